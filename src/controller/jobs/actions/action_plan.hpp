// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/jobs/owner/marks.hpp"
#include "controller/jobs/owner/owners.hpp"
#include "controller/steps.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/brain.hpp"

// What to do about a finding of a job. Pure.
namespace autopilot::controller {

enum class JobStepKind : std::uint8_t {
  accuse_node,  // annotates the node: the planner holds it, and moves its pods, within its rules and budgets
  request_checkpoint,  // annotates the owner or a pod
  suspend,             // the Workload of Kueue, otherwise the owner
  evict_pod,
};

// One request. It can be repeated without another effect.
struct JobStep {
  JobStepKind kind = JobStepKind::accuse_node;
  std::string text;  // for people: "hold node gpu-001"
  Write write;
  // As of JobWrite. Without the object that `write` reads, it is called with an empty text.
  std::function<Result<Write>(const std::string& json)> from_current{};
};

struct JobActionPlan {
  std::vector<JobStep> steps;
  std::string refusal;  // why there are none, for a person; empty: there are
};

inline constexpr std::size_t kMaxEvictions = 1024;  // pods of one action; with more pods it is refused

// Only objects of the job that the API server confirms are changed, and a node only if a pod of the job runs
// there. swap_at_checkpoint: holds the node, keeps its pods, and requests a checkpoint; its second half,
// after the checkpoint, moves the pods as stop_now does. stop_now: holds the node and moves its pods; without
// an accused node, it suspends the job. restart_in_place: evicts the pods of the job on the node of the
// culprit, or all without one.
[[nodiscard]] JobActionPlan plan_action(const jobs::WantedAction& action, const World& world,
                                        const JobObjects& objects, const NodeMarks& node_marks,
                                        const JobMarks& job_marks);

// The first half of a swap: a second half follows.
[[nodiscard]] bool waits_for_checkpoint(const jobs::WantedAction& action);
// "gpu/3", "nic/mlx5_0", "host".
[[nodiscard]] std::string blamed_of(const jobs::Entity& culprit);
// Path of the node; a patch that removes the accusation.
[[nodiscard]] Write withdraw_accusation(const Node& node, const NodeMarks& marks);

}  // namespace autopilot::controller
