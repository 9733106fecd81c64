// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "workloads/migrate/body/launcher.hpp"
#include "workloads/migrate/body/rewrite.hpp"
#include "workloads/migrate/body/shell.hpp"
#include "workloads/migrate/job/job.hpp"
#include "workloads/migrate/job/layout.hpp"
#include "workloads/migrate/script/findings.hpp"

namespace autopilot::workloads::migrate {

// A directory of the old cluster that the job needs: "/nobackup".
struct SitePath {
  std::string path;
  int line = 0;
};

struct LintInput {
  const Job& job;
  const ShellScript& script;
  const std::vector<LauncherCall>& launchers;
  const std::vector<std::string>& mounted;  // paths with a PersistentVolumeClaim
  bool has_image = false;
};

// What in the commands does not work in a pod, or never worked: software, paths, network names, variables,
// ports.
void lint_body(const LintInput& input, Findings& findings);

// Where launchers start their ranks.
struct LaunchPlace {
  const Layout& layout;  // of the first part
  RunsIn runs_in = RunsIn::one_pod;
  int parts = 1;
  bool has_launcher_pod = false;  // the script runs in a pod without GPUs
};

// What launchers did in the old cluster and do not do in pods: options, GPUs of ranks, MPI of srun.
void lint_launchers(const ShellScript& script, const std::vector<LauncherCall>& launchers,
                    const LaunchPlace& place, Findings& findings);

// The script has commands besides launchers that do something again in every pod that runs it.
[[nodiscard]] bool repeats_commands(const ShellScript& script, const std::vector<LauncherCall>& launchers);

// Allocated hosts and GPUs that the launchers leave idle, and ranks beyond the slots. `layout`: as allocated.
struct UseOfAllocation {
  int idle_hosts = 0;
  int idle_gpus = 0;
};
[[nodiscard]] UseOfAllocation lint_allocation(const Layout& layout,
                                              const std::vector<LauncherCall>& launchers,
                                              bool keeps_allocation, Findings& findings);

}  // namespace autopilot::workloads::migrate
