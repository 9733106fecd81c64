// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/facts.hpp"
#include "controller/planner/plan.hpp"
#include "controller/planner/world.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "kube/client.hpp"
#include "kube/events.hpp"
#include "kube/health_reports.hpp"
#include "kube/objects.hpp"
#include "kube/remediation.hpp"

namespace autopilot::controller {

// One request that changes the cluster, or that reads what is there.
struct Write {
  enum class Method : std::uint8_t { create, merge_patch, remove, get };
  Method method = Method::get;
  std::string path;
  std::string body;
  friend bool operator==(const Write&, const Write&) = default;
};
[[nodiscard]] net::Exchange send(kube::Client& client, const Write& write, kube::OnObject on_answer);

// What the controller leaves on a Node object to know its own work again, and what it says there to the agent
// of the node.

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

// What an action makes of a Node object, in one write that the server refuses when the object has changed
// since it was seen as `node`. Nothing: it is so already. conflict: it would touch what somebody else has
// done. Pure.
[[nodiscard]] Result<std::optional<Write>> node_step(const PlannedAction& action, const kube::Node& node,
                                                     const NodeMarks& marks, WallTime now);
// Tells its agent that it may reserve the node for a deep test. Nothing: it was told.
[[nodiscard]] std::optional<Write> grant_test(const kube::Node& node, const NodeMarks& marks, WallTime now);

// What actions make of other objects than nodes. Pure.

// evict_pod and delete_pod: of the pod of that uid, and of no other of its name.
[[nodiscard]] Write remove_pod_step(const PlannedAction& action);
// The status of a report that is still the version which was seen.
[[nodiscard]] Write mark_report_step(const PlannedAction& action, kube::HealthCheckReport report,
                                     const std::string& name_space, WallTime now);
// What others shall do for the plan; it goes when the plan goes.
[[nodiscard]] Write request_step(const PlannedAction& action, const kube::RemediationPlan& plan,
                                 const Node* node, const std::string& name_space, WallTime now);
// What people are told. The controller stands for itself by its Deployment.
[[nodiscard]] kube::EventFact event_fact(const PlannedAction& action, const std::string& name_space);

}  // namespace autopilot::controller
