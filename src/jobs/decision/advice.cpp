// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/advice.hpp"

#include <algorithm>

#include "jobs/causes.hpp"
#include "jobs/decision/alert_text.hpp"

namespace autopilot::jobs {
namespace {

bool has_signal(const JobFinding& finding, std::string_view signal) {
  return std::ranges::any_of(finding.evidence, [&](const Evidence& each) { return each.signal == signal; });
}

// The test that confirms or refutes the culprit.
std::string test_of(const JobFinding& finding) {
  if (finding.culprit.kind == EntityKind::nic) return "network.rdma_loopback";
  if (finding.culprit.kind != EntityKind::gpu) return "gpu.diagnosis";
  if (finding.cause == kPcie) return "gpu.pcie_bandwidth";
  if (finding.cause == kNvlink) return "gpu.p2p";
  if (finding.cause == kEcc) return "gpu.memory_test";
  return "gpu.compute";
}

std::vector<std::string> cluster_commands(const JobFinding& finding) {
  const std::string& node = finding.culprit.node;
  return {"kubectl cordon " + node,
          "autopilot test " + test_of(finding) + " --node " + node + "   # when the node is free"};
}

std::vector<std::string> machine_commands(const JobFinding& finding) {
  const std::string& node = finding.culprit.node;
  std::vector<std::string> commands;
  if (has_signal(finding, "process_stopped"))
    commands.push_back("ps -eo pid,stat,args | awk '$2 ~ /^T/'   # on " + node +
                       "; continue one: kill -CONT PID");
  if (finding.cause == kProcessorWait)
    commands.push_back(
        "systemd-cgtop   # on " + node +
        "; the limit: nr_throttled in cpu.stat of the job's cgroup; the affinity: taskset -p PID");
  if (finding.culprit.kind == EntityKind::host)
    commands.push_back("autopilot check   # on " + node);
  else
    commands.push_back("autopilot test " + test_of(finding) + "   # on " + node + ", when it is free");
  return commands;
}

}  // namespace

std::string_view advice_of(Choice choice) {
  switch (choice) {
    case Choice::keep_running:
      return "let the job continue";
    case Choice::swap_at_checkpoint:
      return "swap the node at the next checkpoint";
    case Choice::stop_now:
      return "stop the job now and start it without the node";
    case Choice::restart_in_place:
      return "start the job again on the same nodes";
  }
  return {};
}

bool names_a_node(const Entity& culprit) {
  return culprit.is_accused() && culprit.kind != EntityKind::leaf;
}

std::vector<std::string> commands_of(const JobFinding& finding, CommandPlace place) {
  if (names_a_node(finding.culprit)) {
    if (!is_safe_in_shell(finding.culprit.node)) return {};
    return place == CommandPlace::cluster ? cluster_commands(finding) : machine_commands(finding);
  }
  if (finding.culprit.kind == EntityKind::leaf || finding.effect == Effect::hang)
    return {"autopilot network test --kind rdma   # between the nodes, when they are free"};
  return {};
}

}  // namespace autopilot::jobs
