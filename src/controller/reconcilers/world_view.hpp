// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/facts.hpp"
#include "controller/planner/policy.hpp"
#include "core/clock.hpp"
#include "core/health.hpp"
#include "kube/health_reports.hpp"
#include "kube/objects.hpp"
#include "kube/remediation.hpp"

namespace autopilot::controller {

// The fields of a NodeHealthReport that plans need: a complete report can have a hundred kilobytes.
struct NodeReport {
  kube::Meta meta;
  std::optional<WallTime> observed;
  std::optional<Verdict> written;  // nullopt: an unknown value
  bool is_unknown = false;         // a required check could not run
  int gpus = 0;                    // number of GPUs that its agent knows
  std::vector<OpenCause> causes;
  std::map<std::string, WallTime, std::less<>> passed;  // by test: the oldest pass among all GPUs
};
[[nodiscard]] NodeReport parse_node_report(const kube::JsonObject& object);

// True if only times and versions differ.
[[nodiscard]] bool says_the_same(const NodeReport& one, const NodeReport& other);

// Conversion of API objects into the planner's facts. Pure.

// The init container that holds a pod until its test has passed.
inline constexpr std::string_view kGateContainer = "autopilot-preflight";
// Label of a pod whose owner wants it moved; it has an effect only together with a report.
inline constexpr std::string_view kDescheduleLabel = "deschedule";
inline constexpr std::string_view kPodLabel = "autopilot";

struct ViewOptions {
  std::string prefix = "autopilot.ibm.com";  // of labels, annotations and taints
  // Resource names of accelerators; a trailing '*' matches every suffix.
  std::vector<std::string> accelerators = {"nvidia.com/gpu", "nvidia.com/mig-*", "amd.com/gpu"};
  bool has_claims = true;  // a ResourceClaim of a pod counts as an accelerator
  // Labels that define failure domains, in order of preference, after <prefix>/failure-domain.
  std::vector<std::string> domain_labels = {"nvidia.com/gpu.clique", "topology.kubernetes.io/rack",
                                            "topology.kubernetes.io/zone"};
};

// node_report: null without a report of the node.
[[nodiscard]] Node node_fact(const kube::Node& node, const NodeReport* node_report, const Policy& policy,
                             const ViewOptions& options);
[[nodiscard]] Pod pod_fact(const kube::Pod& pod, const ViewOptions& options);
// An unknown outcome becomes could_not_look.
[[nodiscard]] Report report_fact(const kube::HealthCheckReport& report);

// True if plans depend on the pod: it has accelerators or requests a test, and is placed and not ended.
[[nodiscard]] bool is_of_interest(const kube::Pod& pod, const ViewOptions& options);
// True if only the time of the agent's report and the version of the object differ.
[[nodiscard]] bool says_the_same(Node one, const Node& other);

// Conversion of the planner's ledger to and from API objects. Pure.

// A plan without a status is waiting; its first decision is in its spec.
[[nodiscard]] LedgerEntry entry_fact(const kube::RemediationPlan& plan);
[[nodiscard]] kube::PlanSpec plan_spec(const LedgerEntry& entry);
// problem: why a step failed; empty: no failure.
[[nodiscard]] kube::PlanStatus plan_status(const LedgerEntry& entry, std::string_view problem);

}  // namespace autopilot::controller
