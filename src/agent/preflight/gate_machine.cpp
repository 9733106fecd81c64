// SPDX-License-Identifier: Apache-2.0
#include "agent/preflight/gate_machine.hpp"

#include <optional>
#include <utility>

#include "agent/preflight/probation.hpp"

namespace autopilot::agent {
namespace {

constexpr std::string_view kLook = "gpu.processes";

std::vector<std::string> offered_by(const runtime::Operations& operations) {
  std::vector<std::string> ids;
  for (const runtime::OperationKind& kind : operations.kinds())
    if (kind.is_told_reservation) ids.push_back(kind.id);
  return ids;
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

// A look that is under way may have begun before the pod had its GPUs: the one after it has not.
bool look_twice(const GateParts& parts, const std::function<void(const CheckResult&)>& done) {
  const auto poll_soon = parts.poll_soon;
  runtime::Runtime& runtime = parts.runtime;
  const bool is_asked = runtime.run_now(kLook, [&runtime, poll_soon, done](const CheckResult& before) {
    if (!runtime.run_now(kLook, done)) return done(before);
    poll_soon();
  });
  if (is_asked) poll_soon();
  return is_asked;
}

}  // namespace

GateMachine gate_machine(const GateParts& parts) {
  ClusterLink* cluster = parts.cluster;
  GateMachine machine{
      .node = parts.node,
      .clock = parts.clock,
      .passes = parts.passes,
      .snapshot = [&runtime = parts.runtime] { return runtime.snapshot(); },
      .offered = [&operations = parts.operations] { return offered_by(operations); },
      .look = [parts](const auto& done) { return look_twice(parts, done); },
      .start =
          [parts](const runtime::OperationStart& wanted) {
            auto operation = parts.operations.start(wanted);
            if (operation) parts.note_changes();
            return operation;
          },
      .find = [&operations = parts.operations](const std::string& id) { return operations.find(id); },
      .allocatable = [cluster] { return allocatable_of(cluster == nullptr ? nullptr : cluster->own_node()); },
      .is_on_probation =
          [cluster, config = parts.config, &clock = parts.clock] {
            const kube::Node* node = cluster == nullptr ? nullptr : cluster->own_node();
            return node != nullptr &&
                   is_on_probation(*node, config().kubernetes.label_prefix, clock.now().wall);
          },
      .settings = [config = parts.config] { return config().preflight; },
      .reasons = [&facts = parts.facts](std::string_view id) { return facts.reason(id); },
      .issuer = cluster == nullptr ? "" : cluster->instance(),
      .report = {}};
  if (cluster != nullptr)
    machine.report = [cluster](kube::HealthCheckReport report, std::function<void(const Status&)> done) {
      cluster->report_sender().send(std::move(report), std::move(done));
    };
  return machine;
}

}  // namespace autopilot::agent
