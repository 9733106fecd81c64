// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "controller/planner/facts.hpp"
#include "controller/planner/policy.hpp"
#include "controller/planner/world.hpp"

namespace autopilot::controller {

// The object that an action changes or refers to.
struct Target {
  std::string api_version;
  std::string kind;  // "Node", "Pod", "HealthCheckReport", "Job" ...; "Controller": ourselves
  std::string name_space;
  std::string name;
  std::string uid;      // precondition of its removal
  std::string version;  // resourceVersion, precondition of all other writes
  friend bool operator==(const Target&, const Target&) = default;
};

// One action. It is idempotent.
struct PlannedAction {
  ActionKind kind = ActionKind::event;
  Target target;
  std::string why;  // one sentence; for an event, its message
  std::vector<std::string> evidence;
  std::string plan;               // the plan of the action
  std::string undo;               // how it is undone; empty: impossible or not needed
  std::string budget;             // state of the budgets
  bool is_recorded_only = false;  // shown, never executed
  bool is_counted = false;        // against the rate of evictions

  std::string cause;   // of a cordon: the cause of its plan
  std::string reason;  // of an event: one word in CamelCase
  std::string about;   // of an event: sent once for each value
  bool is_warning = true;
  Action request = Action::none;                    // of a request
  std::optional<Probation> probation;               // of a taint
  ReportPhase report_phase = ReportPhase::pending;  // of a report

  // Identifies the action in the ledger.
  [[nodiscard]] std::string target_key() const;
  friend bool operator==(const PlannedAction&, const PlannedAction&) = default;
};
// True for actions that are recorded in the ledger, because they are not visible in the cluster or count
// against a limit.
[[nodiscard]] bool is_noted(ActionKind kind);

// Decision about one node. `entry` is written before the first action; if its phase is over, after the last
// one. Actions are executed in order, and none after a failed one: the next plan continues. Completed actions
// of kinds that is_noted() returns true for are added to the entry (note_done), which is written again. The
// removal of a pod is added and written immediately before its request.
struct Decision {
  std::optional<LedgerEntry> entry;  // the new state; nullopt: a decision about reports without a plan
  bool is_changed = false;           // it differs from the stored state and must be written
  std::vector<PlannedAction> actions;
};

// Too many nodes of a pool failed for one cause at once: no node of the pool is cordoned, and no pod evicted.
struct TrippedBreaker {
  std::string pool;
  std::string cause;
  std::vector<std::string> nodes;
  int limit = 0;
  WallTime first{};  // when the first of them failed
};

// Cost of making a plan: the number of inspected objects.
struct PlanCost {
  std::size_t nodes = 0;
  std::size_t plans = 0;
};

struct Plan {
  std::vector<Decision> decisions;
  std::vector<TrippedBreaker> breakers;
  std::vector<std::string> may_test;  // nodes whose agents requested a deep diagnostic and get permission
  std::optional<WallTime> next;       // when the next plan is due without any change
  std::string brake;                  // why there are no decisions: the snapshot is incomplete or old
  PlanCost cost;
};

// Pure: the same world, policy and time give the same plan. There are no decisions from a snapshot that is
// incomplete or older than Rules::stale_after.
[[nodiscard]] Plan plan(const World& world, const Policy& policy, WallTime now);

// The effects of actions on the world, for replays and tests.

// Changes the world as the API server would. Deep diagnostics, requests and Events have no effect.
void apply(World& world, const PlannedAction& action, WallTime now);
// Applies the whole decision in the order of Decision, including its notes in the ledger.
void apply(World& world, const Decision& decision, WallTime now);

}  // namespace autopilot::controller
