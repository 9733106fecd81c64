// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "core/parse.hpp"
#include "workloads/migrate/job/effects.hpp"

namespace autopilot::workloads::migrate {
namespace {

bool set_count(std::optional<int>& member, std::string_view value) {
  const auto count = parse_positive(value);
  if (!count) return false;
  member = *count;
  return true;
}

bool set_least(const EffectContext& context, std::optional<int>& member, char separator) {
  const auto range = parse_range(context.option.value, separator);
  if (!range) return false;
  member = range->least;
  if (range->most && *range->most != range->least) {
    context.row.fate = Fate::approximated;
    context.row.becomes = "the minimum, " + std::to_string(range->least);
  }
  return true;
}

// "name[1-65]%5" of LSF.
bool apply_name(const EffectContext& context) {
  std::string name = context.option.value;
  const auto open = name.find('[');
  if (context.job.scheduler == Scheduler::lsf && open != std::string::npos) {
    const auto close = name.find(']', open);
    if (close == std::string::npos) return false;
    const auto array = parse_array(name.substr(open + 1, close - open - 1) + name.substr(close + 1));
    if (!array) return false;
    context.job.array = *array;
    name.erase(open);
    context.row.becomes = "metadata.name and completions of an Indexed Job";
  }
  context.job.original_name = name;
  return true;
}

bool apply_run_limit(const EffectContext& context) {
  const auto limit = context.job.scheduler == Scheduler::lsf ? parse_lsf_limit(context.option.value)
                                                             : parse_slurm_limit(context.option.value);
  if (!limit) return false;
  context.job.run_limit = *limit;
  context.job.has_run_limit = true;
  context.row.becomes =
      limit->limit ? "activeDeadlineSeconds: " + std::to_string(limit->limit->count()) : "no deadline";
  return true;
}

void set_label(const EffectContext& context) {
  auto& labels = context.job.labels;
  const std::string key(context.option.rule->becomes);
  std::erase_if(labels, [&key](const auto& label) { return label.first == key; });
  labels.emplace_back(key, context.option.value);
  context.row.becomes = "label autopilot.ibm.com/" + key;
}

// Texts that need no reading.
bool apply_text(const EffectContext& context) {
  const std::string& value = context.option.value;
  Job& job = context.job;
  switch (context.option.rule->effect) {
    case Effect::output:
      job.output = value;
      return true;
    case Effect::error:
      job.error = value;
      return true;
    case Effect::input:
      job.input = value;
      return true;
    case Effect::workdir:
      job.workdir = value;
      return true;
    case Effect::shell:
      job.shell = value;
      job.is_login_shell = true;
      return true;
    case Effect::container:
      job.container_image = value;
      return true;
    case Effect::wrap:
      job.wrapped = value;
      return true;
    case Effect::pre_command:
      job.pre_command = value;
      return true;
    case Effect::post_command:
      job.post_command = value;
      return true;
    case Effect::begin:
      job.begin = value;
      job.is_held = value != "now";
      return true;
    case Effect::deadline:
      job.deadline = value;
      return true;
    default:
      return false;
  }
}

}  // namespace

bool apply_shared_effect(const EffectContext& context) {
  const std::string& value = context.option.value;
  const bool is_lsf = context.job.scheduler == Scheduler::lsf;
  JobPart& part = context.part;
  switch (context.option.rule->effect) {
    case Effect::none:
      return true;
    case Effect::name:
      return apply_name(context);
    case Effect::tasks:
      return set_least(context, part.tasks, is_lsf ? ',' : '-');
    case Effect::hosts:
      return set_least(context, part.hosts, '-');
    case Effect::tasks_per_host:
      return set_count(part.tasks_per_host, value);
    case Effect::cpus_per_task:
      return set_count(part.cpus_per_task, value);
    case Effect::cpus_per_gpu:
      return set_count(part.cpus_per_gpu, value);
    case Effect::tasks_per_gpu:
      return set_count(part.tasks_per_gpu, value);
    case Effect::exclusive:
      part.is_exclusive = value.empty();
      return true;
    case Effect::run_limit:
      return apply_run_limit(context);
    case Effect::queue:
      part.queues = list_of(value, is_lsf ? " " : ",");
      return !part.queues.empty();
    case Effect::label:
      set_label(context);
      return true;
    case Effect::host_list:
      part.hosts_included = list_of(value, ", ");
      return true;
    case Effect::host_exclude:
      part.hosts_excluded = list_of(value, ", ");
      return true;
    case Effect::constraint:
      part.constraints.push_back(value);
      return true;
    case Effect::requeue:
      context.job.is_requeued = true;
      return true;
    case Effect::no_requeue:
      context.job.is_requeued = false;
      return true;
    case Effect::hold:
      context.job.is_held = true;
      return true;
    case Effect::mail:
      context.findings.add(Severity::note, "M-MAIL-DROPPED", context.option.line,
                           "Kubernetes sends no mail about jobs",
                           "Let Alertmanager notify you, or ask: kubectl get jobs");
      return true;
    default:
      return apply_text(context);
  }
}

}  // namespace autopilot::workloads::migrate
