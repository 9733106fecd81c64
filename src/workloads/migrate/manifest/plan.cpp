// SPDX-License-Identifier: Apache-2.0
#include "workloads/migrate/manifest/plan.hpp"

#include "workloads/migrate/manifest/pod.hpp"

namespace autopilot::workloads::migrate {

std::string task_name(const Plan& plan, std::size_t part) {
  return plan.layouts.size() > 1 ? "part-" + std::to_string(part) : "host";
}

int hosts_of(const Plan& plan) {
  int hosts = 0;
  for (const Layout& layout : plan.layouts)
    hosts += layout.hosts;
  return hosts;
}

bool needs_ssh_keys(const Plan& plan) {
  const bool brings_keys = plan.target == Target::volcano || plan.target == Target::mpijob;
  return plan.runs_in == RunsIn::launcher && !brings_keys;
}

std::string first_host(const Plan& plan) {
  const std::string& name = plan.job.name;
  if (plan.runs_in == RunsIn::one_pod) return "localhost";
  switch (plan.target) {
    case Target::job:
    case Target::indexed:
    case Target::openshift:
      return name + "-0." + name;
    case Target::jobset:
      return name + "-" + task_name(plan, 0) + (is_array(plan) ? "-${AUTOPILOT_ARRAY_POSITION}" : "-0") +
             "-0." + name;
    case Target::volcano:
      return name + "-" +
             (plan.runs_in == RunsIn::launcher && plan.layouts.size() == 1 ? std::string(kWorkerTask)
                                                                           : task_name(plan, 0)) +
             "-0." + name;
    case Target::pytorchjob:
      return name + "-master-0";
    case Target::mpijob:
      return name + "-worker-0." + name;
  }
  return name;
}

std::string host_index(const Plan& plan) {
  switch (plan.target) {
    case Target::job:
    case Target::indexed:
    case Target::openshift:
    case Target::jobset:
      return "${JOB_COMPLETION_INDEX}";
    case Target::volcano:
      return "${VC_TASK_INDEX}";
    case Target::pytorchjob:
    case Target::mpijob:
      break;
  }
  return "${AUTOPILOT_HOST_INDEX}";
}

std::string ranks_file(const Plan& plan) {
  return plan.target == Target::mpijob ? "/etc/mpi/hostfile" : "/tmp/autopilot-hosts";
}

std::vector<YamlNode> make_manifests(const Plan& plan) {
  switch (plan.target) {
    case Target::job:
    case Target::indexed:
    case Target::openshift:
      return job_manifests(plan);
    case Target::jobset:
      return jobset_manifests(plan);
    case Target::volcano:
      return volcano_manifests(plan);
    case Target::pytorchjob:
      return pytorchjob_manifests(plan);
    case Target::mpijob:
      return mpijob_manifests(plan);
  }
  return {};
}

}  // namespace autopilot::workloads::migrate
