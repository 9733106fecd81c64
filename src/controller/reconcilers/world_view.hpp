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

// What plans are made of in a NodeHealthReport, and no more: the whole one has a hundred kilobytes.
struct NodeLook {
  kube::Meta meta;
  std::optional<WallTime> observed;
  std::optional<Verdict> written;  // nothing: a word that nobody knows
  bool is_unknown = false;         // a required check has not looked
  int gpus = 0;                    // that its agent knows
  std::vector<OpenCause> causes;
  std::map<std::string, WallTime, std::less<>> passed;  // of every GPU, by test; the oldest pass counts
};
[[nodiscard]] NodeLook parse_node_look(const kube::JsonObject& object);

// Nothing but times and versions differs.
[[nodiscard]] bool says_the_same(const NodeLook& one, const NodeLook& other);

// How the planner sees the objects of the cluster. Pure.

// The container that keeps a pod from starting before its test has passed.
inline constexpr std::string_view kGateContainer = "autopilot-preflight";
// Whoever writes a pod asks with it that the pod be moved; it counts only beside a report.
inline constexpr std::string_view kDescheduleLabel = "deschedule";
inline constexpr std::string_view kPodLabel = "autopilot";

struct ViewOptions {
  std::string prefix = "autopilot.ibm.com";  // of labels, annotations and taints
  // Names of resources that are accelerators; one that ends with '*' stands for all that begin so.
  std::vector<std::string> accelerators = {"nvidia.com/gpu", "nvidia.com/mig-*", "amd.com/gpu"};
  bool has_claims = true;  // a claim of a pod counts as one for an accelerator
  // Labels that say what a node fails together with, the best first. <prefix>/failure-domain comes before
  // them.
  std::vector<std::string> domain_labels = {"nvidia.com/gpu.clique", "topology.kubernetes.io/rack",
                                            "topology.kubernetes.io/zone"};
};

// look: null where there is no report of it.
[[nodiscard]] Node node_fact(const kube::Node& node, const NodeLook* look, const Policy& policy,
                             const ViewOptions& options);
[[nodiscard]] Pod pod_fact(const kube::Pod& pod, const ViewOptions& options);
// An outcome that nobody knows is one of which nothing was seen.
[[nodiscard]] Report report_fact(const kube::HealthCheckReport& report);

// Whether plans depend on a pod: it has accelerators, or wants to be tested, and is somewhere and not over.
[[nodiscard]] bool is_of_interest(const kube::Pod& pod, const ViewOptions& options);
// Nothing differs but when the agent looked and the version of the object.
[[nodiscard]] bool says_the_same(Node one, const Node& other);

// The ledger of the planner as objects of the cluster. Pure.

// A plan that has no status yet waits: its first decision stands in its spec.
[[nodiscard]] LedgerEntry entry_fact(const kube::RemediationPlan& plan);
[[nodiscard]] kube::PlanSpec plan_spec(const LedgerEntry& entry);
// problem: why a step of it could not be done; empty: nothing.
[[nodiscard]] kube::PlanStatus plan_status(const LedgerEntry& entry, std::string_view problem);

}  // namespace autopilot::controller
