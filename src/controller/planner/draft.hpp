// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/budget.hpp"
#include "controller/planner/facts.hpp"
#include "controller/planner/plan.hpp"

namespace autopilot::controller {

// What speaks against a node and was not spent on a plan that has ended.
struct Evidence {
  std::vector<const Report*> reports;    // of tests that failed on the GPUs of a pod: proof
  std::vector<const OpenCause*> causes;  // of its verdict EVICT

  [[nodiscard]] bool any() const { return !reports.empty() || !causes.empty(); }
  [[nodiscard]] WallTime first() const;
  [[nodiscard]] WallTime latest() const;
};

// open: the plan that has the node, whose evidence counts for it; null: none.
[[nodiscard]] Evidence evidence_of(const World& world, const Rules& rules, const Node& node,
                                   const LedgerEntry* open, WallTime now);
// The test failed, not too long ago, and has not passed since on all GPUs of the node.
[[nodiscard]] bool is_standing(const Report& report, const Node& node, const Rules& rules, WallTime now);
// The tests that failed have passed since on all GPUs of the node, or a deep test has.
[[nodiscard]] bool is_disproven(const Report& report, const Node& node);
// The plan was made for what is wrong with the node now, and for all of that.
[[nodiscard]] bool is_evidence(const LedgerEntry& plan, const Node& node);

// Why what is told of the node may not be true now; nothing: it may be believed.
[[nodiscard]] std::optional<Brake> doubt_of(const Node& node, const Rules& rules, WallTime now);

// "gpu.pcie_bandwidth failed for pod team-a/train-0: ..." or "xid_79 blames gpu/0000:3b:00.0".
[[nodiscard]] std::string sentence_of(const Evidence& evidence);

// The making of one plan: what all rules read, and what they write.
struct Deliberation {
  const World& world;
  const Policy& policy;
  WallTime now;
  std::vector<const Node*> nodes;  // of concern, those that are there
  Budget budget;
  Plan plan;
  World::Names told;        // uids of owners that were told in this plan that their job waits
  World::Names pools_told;  // of their breaker
  World::Names spares;      // nodes that this plan has named as a place for pods

  Deliberation(const World& the_world, const Policy& the_policy, WallTime the_time);

  [[nodiscard]] const Rules& rules_of(const Node& node) const { return policy.of(node.pool); }
  // Another plan is due then.
  void wake(WallTime at);
};

// What is being decided about one node.
struct Draft {
  const Node& node;
  const Rules& rules;
  const LedgerEntry* before;  // null: there is no plan yet
  Evidence evidence;
  LedgerEntry entry{};
  std::vector<PlannedAction> actions{};
  bool is_pending = false;  // something shows not yet that was decided: the plan is executing

  // Has the fields that every action has.
  PlannedAction& add(ActionKind kind, Target target, std::string why);
  // That pod is on its way in this plan.
  [[nodiscard]] bool moves(const Pod& pod) const;
  // An Event, once for each `about`.
  void tell(const Target& target, std::string reason, std::string message, std::string about = {},
            bool is_warning = true);
};

[[nodiscard]] Target target_of(const Node& node);
[[nodiscard]] Target target_of(const Pod& pod);
[[nodiscard]] Target target_of(const Owner& owner, std::string_view name_space);
[[nodiscard]] Target target_of(const Report& report);
[[nodiscard]] Target pod_of(const Report& report);
[[nodiscard]] Target ourselves();

// With the plan that is there; its evidence is that of the node now.
[[nodiscard]] Draft draft_of(const Deliberation& all, const Node& node, const LedgerEntry& before);
// With a plan that is not there yet: its name is the same for everybody who makes it of the same world.
[[nodiscard]] Draft new_draft(const Deliberation& all, const Node& node, Evidence evidence);
// Takes the evidence that the entry does not have yet.
void take_evidence(Draft& draft);
// Gives every report of the entry that phase, which does not have it.
void mark_reports(const World& world, Draft& draft, ReportPhase phase);
// The end of the plan: its reports first.
void end(const Deliberation& all, Draft& draft, std::string message, ReportPhase reports);
// What was decided goes into the plan; nothing where all is as it was.
void commit(Deliberation& all, Draft draft);

}  // namespace autopilot::controller
