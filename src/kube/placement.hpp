// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Where a pod may be placed, as far as its spec and a Node object tell: the selector, what it requires of its
// nodes, taints. Not what it requires of other pods, nor what is left of cores and memory.
namespace autopilot::kube {

using Labels = std::map<std::string, std::string, std::less<>>;

struct NodeRequirement {
  std::string key;
  std::string op;  // "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"; another one is met by no node
  std::vector<std::string> values;
  friend bool operator==(const NodeRequirement&, const NodeRequirement&) = default;
};

// All of it must be met. One without any requirement is met by no node.
struct NodeTerm {
  std::vector<NodeRequirement> labels;
  std::vector<NodeRequirement> fields;  // of which there is one, metadata.name
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
  std::optional<std::vector<NodeTerm>> terms;  // one must be met; nothing: any node
  std::vector<Toleration> tolerations;
  friend bool operator==(const Placement&, const Placement&) = default;
};

struct Taint;  // objects.hpp

// Whether the scheduler may place it on the node of that name.
[[nodiscard]] bool may_be_placed(const Placement& placement, std::string_view node, const Labels& labels,
                                 const std::vector<Taint>& taints);

}  // namespace autopilot::kube
