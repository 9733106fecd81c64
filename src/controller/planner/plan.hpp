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

// The object that an action changes or is about.
struct Target {
  std::string api_version;
  std::string kind;  // "Node", "Pod", "HealthCheckReport", "Job" ...; "Controller": ourselves
  std::string name_space;
  std::string name;
  std::string uid;      // precondition of what takes it away
  std::string version;  // resourceVersion, precondition of every other write
  friend bool operator==(const Target&, const Target&) = default;
};

// One thing to do. Doing it again does no harm.
struct PlannedAction {
  ActionKind kind = ActionKind::event;
  Target target;
  std::string why;  // one sentence; of an event its message
  std::vector<std::string> evidence;
  std::string plan;               // that it belongs to
  std::string undo;               // how it is taken back; empty: it cannot be, or need not
  std::string budget;             // how the budgets stood
  bool is_recorded_only = false;  // shown, never done
  bool is_counted = false;        // against the rate of evictions

  std::string cause;   // of a cordon: that of its plan
  std::string reason;  // of an event: one word in CamelCase
  std::string about;   // of an event: it is told once for each
  bool is_warning = true;
  Action request = Action::none;                    // of a request
  std::optional<Probation> probation;               // of a taint
  ReportPhase report_phase = ReportPhase::pending;  // of a report

  // What stands in the ledger once it is done.
  [[nodiscard]] std::string target_key() const;
  friend bool operator==(const PlannedAction&, const PlannedAction&) = default;
};
// Its doing is noted in the ledger: it does not show in the cluster, or counts there.
[[nodiscard]] bool is_noted(ActionKind kind);

// What to do about one node. `entry` is written before the first action, but where it is over: then after the
// last. Actions are done in their order, and none after one that failed: the next plan goes on. What is_noted
// is added to the entry (note_done) when it is done, and the entry written again; that a pod shall go is
// added and written before the pod is asked, and no earlier.
struct Decision {
  std::optional<LedgerEntry> entry;  // as it shall be; nothing: it is about reports without a plan
  bool is_changed = false;           // it is not so yet: to be written
  std::vector<PlannedAction> actions;
};

// Too many nodes of a pool turned bad by one cause at once: none is cordoned and nothing is evicted there.
struct TrippedBreaker {
  std::string pool;
  std::string cause;
  std::vector<std::string> nodes;
  int limit = 0;
  WallTime first{};  // when the first of them turned bad
};

// What the making of a plan cost: what was looked at.
struct PlanCost {
  std::size_t nodes = 0;
  std::size_t plans = 0;
};

struct Plan {
  std::vector<Decision> decisions;
  std::vector<TrippedBreaker> breakers;
  std::vector<std::string> may_test;  // nodes that may be reserved for a deep test now, of those that asked
  std::optional<WallTime> next;       // make another plan then, though nothing changes
  std::string brake;                  // why there is no decision at all: the picture is no good
  PlanCost cost;
};

// Pure: the same world, policy and time give the same plan. No decision is made of a picture that is not
// complete, or older than Rules::stale_after.
[[nodiscard]] Plan plan(const World& world, const Policy& policy, WallTime now);

// What the cluster looks like when a plan was carried out: for who replays a history, and for tests.

// As if the API server had done it. Deep tests, requests and Events change nothing here.
void apply(World& world, const PlannedAction& action, WallTime now);
// In the order that Decision asks for, with what is noted in the ledger.
void apply(World& world, const Decision& decision, WallTime now);

}  // namespace autopilot::controller
