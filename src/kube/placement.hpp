// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Possible placement of a pod, from its spec and a Node object: the selector, node affinity and taints.
// Excludes pod affinity and the remaining CPU and memory.
namespace autopilot::kube {

using Labels = std::map<std::string, std::string, std::less<>>;

struct NodeRequirement {
  std::string key;
  std::string op;  // "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"; no node matches another operator
  std::vector<std::string> values;
  friend bool operator==(const NodeRequirement&, const NodeRequirement&) = default;
};

// All requirements must match. A term without requirements matches no node.
struct NodeTerm {
  std::vector<NodeRequirement> labels;
  std::vector<NodeRequirement> fields;  // the only field is metadata.name
  friend bool operator==(const NodeTerm&, const NodeTerm&) = default;
};

struct Toleration {
  std::string key;     // empty, with Exists: every taint
  std::string op;      // "Exists", else equality
  std::string value;   // of the taint
  std::string effect;  // empty: each
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

struct Placement {
  Labels selector;
  std::optional<std::vector<NodeTerm>> terms;  // at least one must match; nullopt: any node
  std::vector<Toleration> tolerations;
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct Taint;  // objects.hpp

// True if the scheduler can place the pod on the node of that name.
[[nodiscard]] bool may_be_placed(const Placement& placement, std::string_view node, const Labels& labels,
                                 const std::vector<Taint>& taints);

}  // namespace autopilot::kube
