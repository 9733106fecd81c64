// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/manifest/pod.hpp"
#include "workloads/migrate/manifest/yaml_writer.hpp"

namespace autopilot::workloads::migrate {

// jobset.x-k8s.io/v1alpha2. The controller creates the headless Service.
std::vector<YamlNode> jobset_manifests(const Plan& plan) {
  std::vector<YamlNode> objects{script_config_map(plan)};
  YamlNode set = object_of("jobset.x-k8s.io/v1alpha2", "JobSet", plan);
  YamlNode& spec = put_map(set, "spec");
  if (plan.job.is_held) put_flag(spec, "suspend", true);
  const bool is_requeued = plan.job.is_requeued.value_or(false);
  YamlNode& failure = put_map(spec, "failurePolicy");
  put_integer(failure, "maxRestarts", is_requeued ? 3 : 0);
  if (is_requeued) {
    // A program that fails is not started again.
    YamlNode& rule = add_map(put_list(failure, "rules"));
    put(rule, "name", "program-failed");
    put(rule, "action", "FailJobSet");
    add_word(put_list(rule, "onJobFailureReasons"), "PodFailurePolicy");
  }
  YamlNode& network = put_map(spec, "network");
  put_flag(network, "enableDNSHostnames", true);
  put(network, "subdomain", plan.job.name);
  put_flag(network, "publishNotReadyAddresses", true);
  YamlNode& jobs = put_list(spec, "replicatedJobs");
  for (std::size_t part = 0; part < plan.layouts.size(); ++part) {
    const bool needs_workers = plan.runs_in == RunsIn::launcher && plan.layouts[part].hosts > 1;
    YamlNode& replicated = add_map(jobs);
    put(replicated, "name", task_name(plan, part));
    put_integer(replicated, "replicas",
                is_array(plan) ? static_cast<long long>(plan.job.array->indices.size()) : 1);
    yaml_member(put_map(replicated, "template"), "spec") =
        job_spec(plan, {.part = part, .role = needs_workers ? PodRole::script_or_worker : PodRole::script});
  }
  objects.push_back(std::move(set));
  return objects;
}

}  // namespace autopilot::workloads::migrate
