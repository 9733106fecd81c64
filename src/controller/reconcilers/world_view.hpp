// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/facts.hpp"
#include "controller/planner/policy.hpp"
#include "controller/reconcilers/node_look.hpp"
#include "kube/health_reports.hpp"
#include "kube/objects.hpp"

// How the planner sees the objects of the cluster. Pure.
namespace autopilot::controller {

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

}  // namespace autopilot::controller
