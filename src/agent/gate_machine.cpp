// SPDX-License-Identifier: Apache-2.0
#include "agent/gate_machine.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "nettest/run/ping_observations.hpp"
#include "preflight/decision.hpp"
#include "runtime/fresh_look.hpp"

namespace autopilot::agent {
namespace {

constexpr std::string_view kLook = "gpu.processes";

// What this process makes itself is about the whole node, and needs it idle; but for the few questions to
// other nodes, which disturb no workload.
std::vector<preflight::OfferedTest> offered_by(const diagnostics::Operations& operations) {
  std::vector<preflight::OfferedTest> tests;
  for (const diagnostics::OperationKind& kind : operations.kinds())
    if (const bool asks_nodes = kind.id == nettest::kPingCheck;
        asks_nodes || std::holds_alternative<host::Command>(kind.test))
      tests.push_back({kind.id, !kind.is_told_reservation, asks_nodes});
  return tests;
}

// A node without an agent does not stop the questions to the others: its own pod cannot be proven there.
Status leave_out_unknown_nodes(const GateParts& parts, std::vector<Subject>& nodes) {
  nodes = parts.with_agents(std::move(nodes));
  return nodes.empty() ? fail(Errc::not_found, "no agent is known on the nodes of the other pods") : Status{};
}

Result<Operation> start(const GateParts& parts, diagnostics::OperationStart wanted) {
  const auto is_node = [](const Subject& one) { return one.kind == SubjectKind::peer; };
  if (std::ranges::any_of(wanted.reservation, is_node))
    TRY_STATUS(leave_out_unknown_nodes(parts, wanted.reservation));
  wanted.knows_holders = true;  // the pod has its GPUs, and the other holders were asked for
  auto operation = parts.operations.start(wanted);
  if (operation) parts.note_changes();
  return operation;
}

// Whole GPUs that device plugins offer.
std::optional<std::int64_t> allocatable_of(const kube::Node* node) {
  if (node == nullptr) return std::nullopt;
  std::int64_t count = 0;
  for (const char* resource : {"nvidia.com/gpu", "amd.com/gpu"})
    if (const auto found = node->allocatable.find(resource); found != node->allocatable.end())
      count += found->second;
  return count;
}

}  // namespace

preflight::GateMachine gate_machine(const GateParts& parts) {
  ClusterLink* cluster = parts.cluster;
  preflight::GateMachine machine{
      .node = parts.node,
      .clock = parts.clock,
      .passes = parts.passes,
      .snapshot = [&runtime = parts.runtime] { return runtime.snapshot(); },
      .offered = [&operations = parts.operations] { return offered_by(operations); },
      .look =
          [parts](const auto& done) {
            return runtime::look_afresh(parts.runtime, parts.clock, kLook, parts.poll_soon, done);
          },
      .start = [parts](const auto& wanted) { return start(parts, wanted); },
      .find = [&operations = parts.operations](const std::string& id) { return operations.find(id); },
      .allocatable = [cluster] { return allocatable_of(cluster == nullptr ? nullptr : cluster->own_node()); },
      .is_on_probation =
          [cluster, config = parts.config, &clock = parts.clock] {
            const kube::Node* node = cluster == nullptr ? nullptr : cluster->own_node();
            return node != nullptr &&
                   preflight::is_on_probation(*node, config().kubernetes.label_prefix, clock.now().wall);
          },
      .why_evicted = [cluster] { return cluster == nullptr ? std::string() : cluster->why_evicted(); },
      .settings = [config = parts.config] { return config().preflight; },
      .reasons = [&facts = parts.facts](std::string_view id) { return facts.reason(id); },
      .issuer = cluster == nullptr ? "" : cluster->instance(),
      .report = {},
      .gang = parts.gang,
      .choose = parts.choose};
  if (cluster != nullptr)
    machine.report = [cluster](kube::HealthCheckReport report, std::function<void(const Status&)> done) {
      cluster->report_sender().send(std::move(report), std::move(done));
    };
  return machine;
}

}  // namespace autopilot::agent
