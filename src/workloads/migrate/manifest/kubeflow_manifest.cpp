// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/manifest/pod.hpp"
#include "workloads/migrate/manifest/yaml_writer.hpp"

namespace autopilot::workloads::migrate {
namespace {

void put_run_policy(YamlNode& spec, const Plan& plan) {
  YamlNode& policy = put_map(spec, "runPolicy");
  put(policy, "cleanPodPolicy", "Running");
  put_integer(policy, "backoffLimit", plan.job.is_requeued.value_or(false) ? 3 : 0);
  if (plan.job.run_limit.limit)
    put_integer(policy, "activeDeadlineSeconds", plan.job.run_limit.limit->count());
  if (plan.job.is_held) put_flag(policy, "suspend", true);
}

void put_replicas(YamlNode& map, std::string_view name, int replicas, YamlNode pod) {
  YamlNode& spec = put_map(map, name);
  put_integer(spec, "replicas", replicas);
  put(spec, "restartPolicy", "Never");
  yaml_member(spec, "template") = std::move(pod);
}

}  // namespace

// kubeflow.org/v1. The container has the name that the operator requires.
std::vector<YamlNode> pytorchjob_manifests(const Plan& plan) {
  std::vector<YamlNode> objects{script_config_map(plan)};
  YamlNode job = object_of("kubeflow.org/v1", "PyTorchJob", plan);
  YamlNode& spec = put_map(job, "spec");
  put_run_policy(spec, plan);
  YamlNode& replicas = put_map(spec, "pytorchReplicaSpecs");
  const PodOptions options{.part = 0, .role = PodRole::script, .container = "pytorch"};
  put_replicas(replicas, "Master", 1, pod_template(plan, options));
  if (hosts_of(plan) > 1) put_replicas(replicas, "Worker", hosts_of(plan) - 1, pod_template(plan, options));
  objects.push_back(std::move(job));
  return objects;
}

// kubeflow.org/v2beta1. The operator gives the keys for ssh and the file of hosts.
std::vector<YamlNode> mpijob_manifests(const Plan& plan) {
  std::vector<YamlNode> objects{script_config_map(plan)};
  YamlNode job = object_of("kubeflow.org/v2beta1", "MPIJob", plan);
  YamlNode& spec = put_map(job, "spec");
  put_integer(spec, "slotsPerWorker", plan.layouts.front().tasks_per_host);
  put(spec, "mpiImplementation", "OpenMPI");
  put_run_policy(spec, plan);
  YamlNode& replicas = put_map(spec, "mpiReplicaSpecs");
  put_replicas(replicas, "Launcher", 1,
               pod_template(plan, {.part = 0, .role = PodRole::launcher, .container = "mpi"}));
  put_replicas(replicas, "Worker", hosts_of(plan),
               pod_template(plan, {.part = 0, .role = PodRole::worker, .container = "mpi"}));
  objects.push_back(std::move(job));
  return objects;
}

}  // namespace autopilot::workloads::migrate
