// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/clock.hpp"
#include "kube/objects.hpp"

// What agent and controller say to each other of deep tests on a Node object (docs/remediation.md). Pure.
//   <prefix>/wants-test  annotation of the agent: since when it asks
//   <prefix>/may-test    of the controller: since when the agent may
//   <prefix>/shall-test  of the controller: {"plan", "since"}; it holds the node and wants to know
//   <prefix>/held        of the controller: the node is cordoned by it
namespace autopilot::diagnostics {

struct TestLeave {
  std::optional<WallTime> asked;
  std::optional<WallTime> granted;
  std::optional<WallTime> ordered;
  bool is_held = false;

  // Something stands there that the agent has to take away.
  [[nodiscard]] bool any() const { return asked || granted; }
};
// A time that cannot be read is one of long ago.
[[nodiscard]] TestLeave test_leave(const kube::Node& node, const std::string& prefix);

// Merge patches of the Node object, refused when it is not the version that was seen.
[[nodiscard]] std::string ask_leave_patch(const kube::Node& node, const std::string& prefix, WallTime now);
[[nodiscard]] std::string give_leave_back_patch(const kube::Node& node, const std::string& prefix);

// Names of the annotations that are given back.
[[nodiscard]] std::string wants_test_key(const std::string& prefix);
[[nodiscard]] std::string may_test_key(const std::string& prefix);

// Null: the node has none of that name.
[[nodiscard]] const std::string* annotation_of(const kube::Node& node, const std::string& key);

}  // namespace autopilot::diagnostics
