// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/manifest/pod.hpp"
#include "workloads/migrate/manifest/yaml_writer.hpp"

namespace autopilot::workloads::migrate {
namespace {

void add_policy(YamlNode& list, std::string_view event, std::string_view action) {
  YamlNode& policy = add_map(list);
  put(policy, "event", event);
  put(policy, "action", action);
}

YamlNode& add_task(YamlNode& tasks, std::string_view name, int replicas, YamlNode pod) {
  YamlNode& task = add_map(tasks);
  put_integer(task, "replicas", replicas);
  put(task, "name", name);
  yaml_member(task, "template") = std::move(pod);
  return task;
}

}  // namespace

// batch.volcano.sh/v1alpha1: all pods start together. The plugins give keys for ssh, names of hosts and the
// number of each pod.
std::vector<YamlNode> volcano_manifests(const Plan& plan) {
  std::vector<YamlNode> objects{script_config_map(plan)};
  YamlNode job = object_of("batch.volcano.sh/v1alpha1", "Job", plan);
  YamlNode& spec = put_map(job, "spec");
  const bool has_launcher = plan.runs_in == RunsIn::launcher;
  put_integer(spec, "minAvailable", hosts_of(plan) + (has_launcher ? 1 : 0));
  put(spec, "schedulerName", "volcano");
  const std::string& queue = plan.placements.front().queue.volcano_queue;
  put(spec, "queue", queue.empty() ? "default" : queue);
  put_integer(spec, "maxRetry", plan.job.is_requeued.value_or(false) ? 3 : 1);
  YamlNode& plugins = put_map(spec, "plugins");
  put_list(plugins, "env");
  put_list(plugins, "ssh");
  put_list(plugins, "svc");
  YamlNode& policies = put_list(spec, "policies");
  add_policy(policies, "PodEvicted", plan.job.is_requeued.value_or(false) ? "RestartJob" : "AbortJob");
  add_policy(policies, "PodFailed", "AbortJob");
  YamlNode& tasks = put_list(spec, "tasks");
  if (has_launcher) {
    YamlNode& task =
        add_task(tasks, kLauncherTask, 1,
                 pod_template(plan, {.part = 0, .role = PodRole::launcher, .has_deadline = true}));
    add_policy(put_list(task, "policies"), "TaskCompleted", "CompleteJob");
    for (std::size_t part = 0; part < plan.layouts.size(); ++part)
      add_task(tasks, plan.layouts.size() > 1 ? task_name(plan, part) : std::string(kWorkerTask),
               plan.layouts[part].hosts, pod_template(plan, {.part = part, .role = PodRole::worker}));
  } else {
    for (std::size_t part = 0; part < plan.layouts.size(); ++part) {
      YamlNode& task = add_task(tasks, task_name(plan, part), plan.layouts[part].hosts,
                                pod_template(plan, {.part = part, .has_deadline = true}));
      if (part == 0) add_policy(put_list(task, "policies"), "TaskCompleted", "CompleteJob");
    }
  }
  objects.push_back(std::move(job));
  return objects;
}

}  // namespace autopilot::workloads::migrate
