// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/budget.hpp"
#include "controller/planner/facts.hpp"
#include "controller/planner/plan.hpp"

namespace autopilot::controller {

// The evidence against a node that no ended plan has used.
struct Evidence {
  std::vector<const Report*> reports;    // of failed tests on the GPUs of a pod; this is proof
  std::vector<const OpenCause*> causes;  // of its verdict EVICT, of a job, or that it is a lemon

  [[nodiscard]] bool any() const { return !reports.empty() || !causes.empty(); }
  // Only the history of the node speaks against it.
  [[nodiscard]] bool is_of_history() const;
  [[nodiscard]] WallTime first() const;
  [[nodiscard]] WallTime latest() const;
};

// open: the open plan of the node, whose evidence still counts; null: none.
[[nodiscard]] Evidence evidence_of(const World& world, const Rules& rules, const Node& node,
                                   const LedgerEntry* open, WallTime now);
// A lemon without a fault for longer is left in service.
inline constexpr Duration kLemonAge = std::chrono::days{14};
// The test failed recently and has not passed since on all GPUs of the node.
[[nodiscard]] bool is_standing(const Report& report, const Node& node, const Rules& rules, WallTime now);
// The failed tests, or a deep diagnostic, have passed since on all GPUs of the node.
[[nodiscard]] bool is_disproven(const Report& report, const Node& node);
// The plan covers all current evidence against the node.
[[nodiscard]] bool is_evidence(const LedgerEntry& plan, const Node& node);

// Why the reported health of the node is not reliable now; nullopt: it is.
[[nodiscard]] std::optional<Brake> doubt_of(const Node& node, const Rules& rules, WallTime now);

// "gpu.pcie_bandwidth failed for pod team-a/train-0: ..." or "xid_79 blames gpu/0000:3b:00.0".
[[nodiscard]] std::string sentence_of(const Evidence& evidence);

// State while one plan is made: the inputs and outputs of all rules.
struct Deliberation {
  const World& world;
  const Policy& policy;
  WallTime now;
  std::vector<const Node*> nodes;  // the nodes of concern that exist
  Budget budget;
  Plan plan;
  World::Names told;        // uids of owners that get an Event about a waiting job in this plan
  World::Names pools_told;  // pools whose breaker this plan reports
  World::Names spares;      // nodes that this plan has assigned to pods

  Deliberation(const World& the_world, const Policy& the_policy, WallTime the_time);

  [[nodiscard]] const Rules& rules_of(const Node& node) const { return policy.of(node.pool); }
  // Makes another plan due at that time.
  void wake(WallTime at);
};

// The decision about one node while it is made.
struct Draft {
  const Node& node;
  const Rules& rules;
  const LedgerEntry* before;  // null: no plan yet
  Evidence evidence;
  LedgerEntry entry{};
  std::vector<PlannedAction> actions{};
  bool is_pending = false;  // a decided action is not visible yet: the plan is executing

  // Adds an action with the common fields set.
  PlannedAction& add(ActionKind kind, Target target, std::string why);
  // True if this plan removes that pod.
  [[nodiscard]] bool moves(const Pod& pod) const;
  // Adds an Event, once for each `about`.
  void tell(const Target& target, std::string reason, std::string message, std::string about = {},
            bool is_warning = true);
};

[[nodiscard]] Target target_of(const Node& node);
[[nodiscard]] Target target_of(const Pod& pod);
[[nodiscard]] Target target_of(const Owner& owner, std::string_view name_space);
[[nodiscard]] Target target_of(const Report& report);
[[nodiscard]] Target pod_of(const Report& report);
[[nodiscard]] Target ourselves();

// For an existing plan; uses the current evidence of the node.
[[nodiscard]] Draft draft_of(const Deliberation& all, const Node& node, const LedgerEntry& before);
// For a new plan. Its name depends only on the world, so that every controller chooses the same.
[[nodiscard]] Draft new_draft(const Deliberation& all, const Node& node, Evidence evidence);
// The plan of a lemon has no evidence only because the history does not have the faults of its node, or was
// not searched yet: it stays as it is. Not for faults older than kLemonAge.
[[nodiscard]] bool awaits_history(const Deliberation& all, const Draft& draft);
// Adds new evidence to the entry.
void take_evidence(Draft& draft);
// Sets the phase of every report of the entry that has another one.
void mark_reports(const World& world, Draft& draft, ReportPhase phase);
// Ends the plan, after its reports.
void end(const Deliberation& all, Draft& draft, std::string message, ReportPhase reports);
// Moves the decision into the plan; does nothing without a change.
void commit(Deliberation& all, Draft draft);

}  // namespace autopilot::controller
