// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/migrate/job/job.hpp"
#include "workloads/migrate/script/findings.hpp"
#include "workloads/migrate/script/script.hpp"

namespace autopilot::workloads::migrate {

enum class Takes : std::uint8_t { nothing, value, optional_value };

// What an option changes in the job. `none`: nothing; the fate and the text of its rule are all.
enum class Effect : std::uint8_t {
  none,
  name,
  tasks,
  hosts,
  tasks_per_host,
  cpus_per_task,
  cpus_per_gpu,
  tasks_per_gpu,
  lsf_requirement,
  lsf_gpu,
  lsf_memory,
  lsf_dependency,
  lsf_environment,
  lsf_host_list,
  lsf_rerun,
  lsf_requeue_codes,
  lsf_allocation,
  lsf_warning_time,
  lsf_warning_signal,
  memory,
  memory_per_cpu,
  memory_per_gpu,
  gres,
  gpus_total,
  gpus_per_host,
  gpus_per_task,
  gpus_per_socket,
  sockets_per_host,
  shifter_image,
  modules,
  scratch,
  exclusive,
  run_limit,
  queue,
  label,
  host_list,
  host_exclude,
  constraint,
  array,
  dependency,
  environment,
  requeue,
  no_requeue,
  signal,
  output,
  error,
  input,
  workdir,
  shell,
  begin,
  deadline,
  hold,
  container,
  wrap,
  pre_command,
  post_command,
  mail,
};

struct OptionRule {
  std::string_view name;        // "-n", "--nodes"
  std::string_view short_name;  // "-N"; empty: none
  Takes takes = Takes::nothing;
  Effect effect = Effect::none;
  Fate fate = Fate::dropped;
  std::string_view becomes;  // a field, or the reason why it is dropped; for `label` its key
};

[[nodiscard]] std::span<const OptionRule> lsf_options();
[[nodiscard]] std::span<const OptionRule> slurm_options();

// An option as it is given.
struct GivenOption {
  const OptionRule* rule = nullptr;
  std::string text;  // "-W 23:59", for reports
  std::string value;
  int line = 0;
  std::size_t part = 0;
};

struct GivenOptions {
  std::vector<GivenOption> options;
  std::vector<std::string> rest;  // of a submit command: the program or script, and its arguments
};

// Recognises options as bsub and sbatch do: words behind the last option of a submit command (line 0) are the
// rest; in a directive they are a finding, as is an unknown option.
[[nodiscard]] GivenOptions recognise_options(const std::vector<OptionWord>& words, Scheduler scheduler,
                                             Findings& findings);

}  // namespace autopilot::workloads::migrate
