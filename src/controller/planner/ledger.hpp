// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/words.hpp"
#include "core/clock.hpp"

namespace autopilot::controller {

// A step that was answered by the API server: it has been done. That a pod shall go stands here right before
// it is asked: it counts though no answer comes, and who was never asked does not wait to be asked again.
struct DoneStep {
  ActionKind kind = ActionKind::event;
  std::string target;  // PlannedAction::target_key
  WallTime at{};
  bool is_counted = false;  // against the rate of evictions
  friend bool operator==(const DoneStep&, const DoneStep&) = default;
};

// A RemediationPlan: one decision about one node. All of them together are the memory of the planner.
struct LedgerEntry {
  std::string name;
  std::string version;  // resourceVersion; empty: not written yet
  std::string node;
  std::string node_uid;
  std::string pool;
  std::string domain;
  std::vector<std::string> jobs;      // uids of the owners whose pods it concerns
  std::string cause;                  // for people: the test or the cause that came first
  std::vector<std::string> evidence;  // names of reports, ids of incidents
  std::vector<std::string> tests;     // that failed: proof is that they pass
  WallTime latest_evidence{};
  Phase phase = Phase::waiting;
  bool holds = false;        // its node, or is about to: counts against the budgets
  bool is_released = false;  // a person gave the node back: not held again for the same evidence
  WallTime created{};
  WallTime updated{};
  std::optional<WallTime> begun;     // when it began to hold its node; its cordon may have been lost
  std::optional<WallTime> returned;  // when the node was given back
  std::string brake;                 // word of what it waits for
  std::string message;               // where it stands, for people
  std::string budget;                // how the budgets stood when it was decided
  std::string spare;                 // a node where the pods may go
  std::vector<std::string> steps;    // what was decided, for people
  std::vector<DoneStep> done;        // oldest first
  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;

  static constexpr std::size_t kMaxEvidence = 64;  // names; the first and the newest stay
  static constexpr std::size_t kMaxDone = 128;     // the newest stay
  static constexpr std::size_t kMaxSteps = 64;     // the first stay
  static constexpr std::size_t kMaxJobs = 64;      // the first stay
};

[[nodiscard]] bool has_done(const LedgerEntry& entry, ActionKind kind, std::string_view target);
// When a step of that kind was last done; nothing: never.
[[nodiscard]] std::optional<WallTime> last_done(const LedgerEntry& entry, ActionKind kind);
// Adds it, or renews its time where it stands.
void note_done(LedgerEntry& entry, DoneStep step);
void note_evidence(LedgerEntry& entry, std::string_view name);
void note_job(LedgerEntry& entry, std::string_view uid);

}  // namespace autopilot::controller
