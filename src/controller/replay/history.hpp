// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/planner/facts.hpp"
#include "controller/planner/policy.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"

// A recorded history of a cluster, line by line (docs/remediation.md).
namespace autopilot::controller {

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

}  // namespace autopilot::controller
