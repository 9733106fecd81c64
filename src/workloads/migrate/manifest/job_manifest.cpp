// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "workloads/migrate/manifest/pod.hpp"
#include "workloads/migrate/manifest/yaml_writer.hpp"

namespace autopilot::workloads::migrate {
namespace {

constexpr int kRetries = 3;

// LSF -r and Slurm --requeue start a job again if its host is lost; -Q also after these exit codes.
void put_failure_rules(YamlNode& spec, const Plan& plan, const PodOptions& options) {
  const bool is_requeued = plan.job.is_requeued.value_or(false);
  const auto& codes = plan.job.retried_exit_codes;
  const bool is_retried = is_requeued || !codes.empty();
  // The elements of an array are independent: a failure does not end the others.
  const bool has_elements = is_array(plan) && plan.target != Target::jobset;
  put_integer(spec, has_elements ? "backoffLimitPerIndex" : "backoffLimit", is_retried ? kRetries : 0);
  if (!is_retried) return;
  YamlNode& rules = put_list(put_map(spec, "podFailurePolicy"), "rules");
  YamlNode& lost = add_map(rules);
  put(lost, "action", "Ignore");
  YamlNode& condition = add_map(put_list(lost, "onPodConditions"));
  put(condition, "type", "DisruptionTarget");
  put(condition, "status", "True");
  YamlNode& failed = add_map(rules);
  put(failed, "action", has_elements ? "FailIndex" : "FailJob");
  YamlNode& exit = put_map(failed, "onExitCodes");
  put(exit, "containerName", options.container);
  put(exit, "operator", "NotIn");
  YamlNode& values = put_list(exit, "values");
  std::vector<int> sorted = codes;
  sorted.push_back(0);
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (const int code : sorted)
    values.items.push_back(yaml_integer(code));
}

void put_indexed(YamlNode& spec, int completions, int parallelism) {
  put(spec, "completionMode", "Indexed");
  put_integer(spec, "completions", completions);
  put_integer(spec, "parallelism", parallelism);
}

}  // namespace

YamlNode job_spec(const Plan& plan, const PodOptions& options) {
  YamlNode spec = yaml_map();
  const Layout& layout = plan.layouts[options.part];
  const bool is_array_job = is_array(plan) && plan.target != Target::jobset;
  if (plan.job.is_held && plan.target != Target::jobset) put_flag(spec, "suspend", true);
  PodOptions own = options;
  // A deadline of the Job would also count the time in the queue.
  own.has_deadline = true;
  if (is_array_job) {
    const int count = static_cast<int>(plan.job.array->indices.size());
    put_indexed(spec, count, std::min(count, plan.job.array->throttle.value_or(count)));
  } else if (layout.hosts > 1 || plan.target == Target::indexed || plan.target == Target::jobset) {
    put_indexed(spec, layout.hosts, layout.hosts);
  }
  put_failure_rules(spec, plan, own);
  if (options.role == PodRole::script_or_worker) {
    // The ssh servers do not end by themselves.
    YamlNode& rule = add_map(put_list(put_map(spec, "successPolicy"), "rules"));
    put(rule, "succeededIndexes", "0");
  }
  YamlNode& pod = yaml_member(spec, "template") = pod_template(plan, own);
  if (!is_array_job && layout.hosts > 1 && plan.target != Target::jobset)
    put(yaml_member(pod, "spec"), "subdomain", plan.job.name);
  return spec;
}

std::vector<YamlNode> job_manifests(const Plan& plan) {
  std::vector<YamlNode> objects{script_config_map(plan)};
  if (hosts_of(plan) > 1 && !is_array(plan))
    objects.push_back(headless_service(plan, "batch.kubernetes.io/job-name"));
  YamlNode job = object_of("batch/v1", "Job", plan);
  const bool needs_workers = plan.runs_in == RunsIn::launcher && hosts_of(plan) > 1;
  yaml_member(job, "spec") =
      job_spec(plan, {.part = 0, .role = needs_workers ? PodRole::script_or_worker : PodRole::script});
  objects.push_back(std::move(job));
  return objects;
}

}  // namespace autopilot::workloads::migrate
