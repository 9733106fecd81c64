// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/migrate/body/launcher.hpp"
#include "workloads/migrate/body/shell.hpp"
#include "workloads/migrate/job/job.hpp"
#include "workloads/migrate/job/layout.hpp"

namespace autopilot::workloads::migrate {

// Of the ConfigMap: gives a rank of MPI its GPUs.
inline constexpr std::string_view kGpusOfRankProgram = "/autopilot/job/gpus_of_rank";

// Where the script runs.
enum class RunsIn : std::uint8_t {
  one_pod,   // the only pod
  each_pod,  // the same script in every pod of the job
  launcher,  // one pod, from which mpirun starts ranks in others
};

struct RewriteSettings {
  RunsIn runs_in = RunsIn::one_pod;
  Layout layout;
  std::string first_host;  // name of the first pod, for rendezvous
  std::string host_index;  // reference to the number of this pod: "${JOB_COMPLETION_INDEX}"
  std::string job_id;      // reference to the id of the job: "${SLURM_JOB_ID}"
  std::string ranks_file;  // the hosts for mpirun; only for `launcher`
};

struct Rewritten {
  std::vector<std::string> lines;
  std::vector<DirectiveRow> rows;  // one for each changed command
};

// The commands with launchers that fit the pods: torchrun meets at the first pod, srun in front of it goes,
// jsrun and ddlrun become mpirun, hosts come from the manifest. Everything else is unchanged, byte for byte.
[[nodiscard]] Rewritten rewrite_body(const ShellScript& script, const std::vector<LauncherCall>& launchers,
                                     const RewriteSettings& settings);

}  // namespace autopilot::workloads::migrate
