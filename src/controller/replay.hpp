// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/facts.hpp"
#include "controller/planner/plan.hpp"
#include "controller/planner/policy.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::controller {

// Events of a recorded cluster history (docs/remediation.md).

// The changed fields of a node.
struct NodeChange {
  std::string name;
  std::optional<Labels> labels;
  std::optional<std::string> domain;
  std::optional<int> gpus;
  std::optional<bool> is_ready;
  std::optional<bool> is_unschedulable;  // by another program or a person
  std::optional<Verdict> verdict;
  std::optional<bool> is_unknown;
  std::optional<bool> is_silent;  // its agent no longer reports
  std::optional<bool> wants_test;
  std::optional<std::vector<OpenCause>> causes;  // all open causes
  std::vector<std::string> passed;               // tests that pass at this time on all GPUs
};

struct PodChange {
  std::string uid;
  std::optional<std::string> name_space;
  std::optional<std::string> name;
  std::optional<std::string> node;
  std::optional<Owner> owner;
  std::optional<int> gpus;
  std::optional<std::int64_t> priority;
  std::optional<bool> is_gated;
  std::optional<bool> is_deleting;
  std::optional<bool> has_deschedule;
};

// One line. A line without an object only advances the time.
struct HistoryEvent {
  WallTime time{};
  std::optional<NodeChange> node;
  std::optional<PodChange> pod;
  std::optional<Report> report;  // the time of the event applies
  std::string removed_node;
  std::string removed_pod;  // uid
};

// malformed: not a JSON object, or a missing or unknown member, or one of another type. The text names the
// member, not the line.
[[nodiscard]] Result<HistoryEvent> parse_history_event(std::string_view line);

// Replays a recorded history through the planner, to show what a policy would have done. Decisions take
// effect immediately, in the model only. Agents report continuously that nothing has changed, except silent
// ones. A removed pod stays removed, whatever the history contains; deep diagnostics and requests have no
// effect beyond the history.
class Replay {
 public:
  // Limit for one history.
  static constexpr std::size_t kMaxObjects = 200'000;
  static constexpr std::size_t kMaxPlans = 1'000'000;

  // Called with every plan that has a decision.
  using Tell = std::function<void(WallTime, const Plan&)>;
  Replay(Policy policy, Tell tell, std::size_t most_plans = kMaxPlans);

  // malformed: the event is earlier than the previous one. exhausted: a limit above.
  [[nodiscard]] Status take(const HistoryEvent& event);
  // Call it after the last event.
  [[nodiscard]] Status finish();

  [[nodiscard]] const World& world() const { return world_; }
  [[nodiscard]] std::size_t plans() const { return plans_; }

 private:
  [[nodiscard]] Status decide();
  [[nodiscard]] Status go_to(WallTime time);
  void change(const NodeChange& change);
  void change(const PodChange& change);

  Policy policy_;
  Tell tell_;
  std::size_t most_plans_;
  World world_;
  std::set<std::string, std::less<>> silent_;  // nodes
  std::set<std::string, std::less<>> moved_;   // uids of pods
  bool has_begun_ = false;
  WallTime now_{};
  std::optional<WallTime> next_;
  std::size_t plans_ = 0;
  std::size_t objects_ = 0;
};

}  // namespace autopilot::controller
