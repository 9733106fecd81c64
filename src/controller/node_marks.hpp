// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/facts.hpp"
#include "core/clock.hpp"
#include "kube/objects.hpp"

// What the controller leaves on a Node object to know its own work again, and what it says there to the agent
// of the node.
namespace autopilot::controller {

// Names of annotations: of a node that we cordoned, of one that we gave back a while ago, and what is said of
// deep tests: its agent asks for one, it may have one, it shall make one. And of a label of an operator.
struct NodeMarks {
  std::string held;       // a label of the same name, for selectors, says why; nothing is read from it
  std::string probation;  // the taint has the same name
  std::string wants_test;
  std::string may_test;
  std::string shall_test;
  std::string hold;  // the label with the value kHoldDisabled: the node is never held
};
// prefix: "autopilot.ibm.com"
[[nodiscard]] NodeMarks node_marks(const std::string& prefix);

inline constexpr std::string_view kHoldDisabled = "disabled";
inline constexpr std::string_view kProbationEffect = "PreferNoSchedule";

// The value of the label of a held node: the cause of its plan, or "true" where that can be no label's.
[[nodiscard]] std::string held_label(std::string_view cause);

// JSON of the annotations. One that says nothing that can be read names no plan: somebody else wrote it.
[[nodiscard]] std::string format_hold(const Hold& hold);
[[nodiscard]] Hold parse_hold(std::string_view text);
[[nodiscard]] std::string format_probation(const Probation& probation);
[[nodiscard]] Probation parse_probation(std::string_view text);
// Who asks for a deep test, and since when.
struct TestOrder {
  std::string plan;
  WallTime since{};
  friend bool operator==(const TestOrder&, const TestOrder&) = default;
};
[[nodiscard]] std::string format_test_order(const TestOrder& order);

// The annotation of that name; nothing: the node has none.
[[nodiscard]] std::optional<std::string_view> annotation(const kube::Node& node, const std::string& name);
// The taint of probation.
[[nodiscard]] bool is_probation_taint(const kube::Taint& taint, const NodeMarks& marks);

}  // namespace autopilot::controller
