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

// A recorded history of a cluster, line by line (docs/remediation.md).

// What became of a node: what is told, nothing else.
struct NodeChange {
  std::string name;
  std::optional<Labels> labels;
  std::optional<std::string> domain;
  std::optional<int> gpus;
  std::optional<bool> is_ready;
  std::optional<bool> is_unschedulable;  // by somebody else than us
  std::optional<Verdict> verdict;
  std::optional<bool> is_unknown;
  std::optional<bool> is_silent;  // its agent tells nothing any more
  std::optional<bool> wants_test;
  std::optional<std::vector<OpenCause>> causes;  // all that are open
  std::vector<std::string> passed;               // tests, just now, on all GPUs
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

// One line. Without any of the objects time goes on, and that is all.
struct HistoryEvent {
  WallTime time{};
  std::optional<NodeChange> node;
  std::optional<PodChange> pod;
  std::optional<Report> report;  // its time is that of the event
  std::string removed_node;
  std::string removed_pod;  // uid
};

// malformed: no JSON object, a member that is missing, unknown or of another type. The text names it, and no
// line.
[[nodiscard]] Result<HistoryEvent> parse_history_event(std::string_view line);

// What a policy would have done: a recorded history goes through the planner, and what it decides is carried
// out at once, in the picture alone. Agents tell all the time that nothing has changed, but for silent ones.
// A pod that was moved stays away, whatever the history tells of it; deep tests and requests lead to nothing
// but what the history tells.
class Replay {
 public:
  // Of a history.
  static constexpr std::size_t kMaxObjects = 200'000;
  static constexpr std::size_t kMaxPlans = 1'000'000;

  // `tell` gets every plan that has a decision.
  using Tell = std::function<void(WallTime, const Plan&)>;
  Replay(Policy policy, Tell tell, std::size_t most_plans = kMaxPlans);

  // malformed: its time lies before that of the event before. exhausted: a limit above.
  [[nodiscard]] Status take(const HistoryEvent& event);
  // After the last one.
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
