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

// One request that changes or reads an object of the cluster.
struct Write {
  enum class Method : std::uint8_t { create, merge_patch, remove, get };
  Method method = Method::get;
  std::string path;
  std::string body;
  friend bool operator==(const Write&, const Write&) = default;
};
[[nodiscard]] net::Exchange send(kube::Client& client, const Write& write, kube::OnObject on_answer);

// Marks of the controller on Node objects: for itself, and for the agent of the node.

// Names of the annotations: of a node that we cordoned, of a node on probation, and of deep diagnostics,
// which an agent requests, and which the controller permits or orders. Also the name of a label that
// operators set.
struct NodeMarks {
  std::string held;       // a label of the same name has the cause, for selectors; it is never read
  std::string probation;  // also the name of the taint
  std::string wants_test;
  std::string may_test;
  std::string shall_test;
  std::string hold;     // label; with the value kHoldDisabled the node is never held
  std::string accused;  // of a node that a job accuses
};
// prefix: "autopilot.ibm.com"
[[nodiscard]] NodeMarks node_marks(const std::string& prefix);

inline constexpr std::string_view kHoldDisabled = "disabled";
inline constexpr std::string_view kProbationEffect = "PreferNoSchedule";

// The label value of a held node: the cause of its plan, or "true" if the cause is not a valid label value.
[[nodiscard]] std::string held_label(std::string_view cause);

// JSON of the annotations. A text that cannot be parsed gives an empty plan: another program wrote it.
[[nodiscard]] std::string format_hold(const Hold& hold);
[[nodiscard]] Hold parse_hold(std::string_view text);
[[nodiscard]] std::string format_probation(const Probation& probation);
[[nodiscard]] Probation parse_probation(std::string_view text);
// A finding of the in-flight engine that accuses the node.
struct Accusation {
  std::string finding;
  std::string job;
  std::string effect;  // "hang"
  std::string blamed;  // "gpu/3", "host"
  WallTime since{};
  bool keeps_pods = false;  // of OpenCause
  friend bool operator==(const Accusation&, const Accusation&) = default;
};
[[nodiscard]] std::string format_accusation(const Accusation& accusation);
// nullopt: no finding and time, or not JSON.
[[nodiscard]] std::optional<Accusation> parse_accusation(std::string_view text);

// The plan that orders a deep diagnostic, and since when.
struct TestOrder {
  std::string plan;
  WallTime since{};
  friend bool operator==(const TestOrder&, const TestOrder&) = default;
};
[[nodiscard]] std::string format_test_order(const TestOrder& order);

// The annotation of that name; nullopt: missing.
[[nodiscard]] std::optional<std::string_view> annotation(const kube::Node& node, const std::string& name);
// True for the taint of probation.
[[nodiscard]] bool is_probation_taint(const kube::Taint& taint, const NodeMarks& marks);

// The write that executes an action on a Node object. The server refuses it if the object has changed since
// `node` was read. nullopt: nothing to do. conflict: the write would change the work of another program or
// person. Pure.
[[nodiscard]] Result<std::optional<Write>> node_step(const PlannedAction& action, const kube::Node& node,
                                                     const NodeMarks& marks, WallTime now);
// Permits the agent to reserve the node for a deep diagnostic. nullopt: permitted already.
[[nodiscard]] std::optional<Write> grant_test(const kube::Node& node, const NodeMarks& marks, WallTime now);

// The writes that execute actions on other objects. Pure.

// For evict_pod and delete_pod. The uid is a precondition, so that no other pod of that name is removed.
[[nodiscard]] Write remove_pod_step(const PlannedAction& action);
// Sets the status of the report; refused if the report has changed.
[[nodiscard]] Write mark_report_step(const PlannedAction& action, kube::HealthCheckReport report,
                                     const std::string& name_space, WallTime now);
// Creates the RemediationRequest of the plan, which owns it.
[[nodiscard]] Write request_step(const PlannedAction& action, const kube::RemediationPlan& plan,
                                 const Node* node, const std::string& name_space, WallTime now);
// The Event of the action. Events about the controller itself refer to its Deployment.
[[nodiscard]] kube::EventFact event_fact(const PlannedAction& action, const std::string& name_space);

}  // namespace autopilot::controller
