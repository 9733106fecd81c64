// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "controller/planner/plan.hpp"
#include "controller/replay/history.hpp"

namespace autopilot::controller {

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
