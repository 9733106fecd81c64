// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// The words of policies, RemediationPlans and what is printed of them.
namespace autopilot::controller {

// What the planner may do. observe: record plans and tell. hold: also move a pod whose pre-flight test
// failed, and cordon its node. act: also move running pods off nodes with the verdict EVICT, have nodes
// tested, and ask others for resets, reboots and replacements.
enum class Mode : std::uint8_t { observe, hold, act };
[[nodiscard]] std::string_view to_string(Mode mode);
[[nodiscard]] std::optional<Mode> parse_mode(std::string_view word);

// How far a RemediationPlan is.
enum class Phase : std::uint8_t {
  recorded,   // what would be done; nothing of it will be
  waiting,    // something keeps it from holding its node; it holds it when nothing does any more
  executing,  // begun; not every step of it shows
  held,       // the node is cordoned, and waits for proof of its health
  undoing,    // proven healthy; the node is being given back
  probation,  // given back, and looked at more closely for a while
  over,
};
[[nodiscard]] std::string_view to_string(Phase phase);
[[nodiscard]] std::optional<Phase> parse_phase(std::string_view word);
// It has something left to do, or to undo.
[[nodiscard]] inline bool is_open(Phase phase) {
  return phase != Phase::recorded && phase != Phase::over;
}

enum class ActionKind : std::uint8_t {
  cordon,        // spec.unschedulable and the annotation that names the plan, in one write
  uncordon,      // both away, in one write
  release,       // the annotation alone: somebody else has uncordoned the node, or cordons it now
  taint,         // the soft taint and the annotation of probation, in one write; also where they stand
  remove_taint,  // both away
  evict_pod,     // by the Eviction API
  delete_pod,    // in place of that, where the policy says so
  deep_test,     // have the agent of the node make one
  request,       // file a RemediationRequest
  event,         // tell people
  mark_report,   // status of a HealthCheckReport
};
[[nodiscard]] std::string_view to_string(ActionKind kind);
// It takes a pod off its node.
[[nodiscard]] inline bool is_removal(ActionKind kind) {
  return kind == ActionKind::evict_pod || kind == ActionKind::delete_pod;
}
[[nodiscard]] std::optional<ActionKind> parse_action_kind(std::string_view word);

// How a pre-flight test of a pod ended that did not pass, or that was not made.
enum class Outcome : std::uint8_t { started, failed, could_not_look };
[[nodiscard]] std::string_view to_string(Outcome outcome);
[[nodiscard]] std::optional<Outcome> parse_outcome(std::string_view word);

// What became of a HealthCheckReport.
enum class ReportPhase : std::uint8_t { pending, planned, acted, undone, expired };
[[nodiscard]] std::string_view to_string(ReportPhase phase);
[[nodiscard]] std::optional<ReportPhase> parse_report_phase(std::string_view word);

// What keeps a plan from holding its node, or from moving running pods off it.
enum class BrakeKind : std::uint8_t {
  breaker,      // too many nodes of the pool turned bad at once
  unknown,      // nobody tells how the node is
  stale,        // what is told of it is old
  pool_budget,  // as many nodes are held as may be
  domain_budget,
  job_budget,
  rate,
  settling,       // seen a moment ago: others may turn bad of the same
  others_cordon,  // somebody else's, who decides about the node
  exempt,         // an operator lets the node never be held
};
[[nodiscard]] std::string_view to_string(BrakeKind kind);

}  // namespace autopilot::controller
