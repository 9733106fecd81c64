// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/brain.hpp"

// What the owner of a job, or its pods, show of its health: annotations and a condition. Pure.
namespace autopilot::controller {

struct JobMarks {
  std::string health;      // annotation, JSON of the health
  std::string failure;     // annotation, JSON of the failure
  std::string checkpoint;  // annotation: id of the finding for which a checkpoint is requested
};
// prefix: "autopilot.ibm.com"
[[nodiscard]] JobMarks job_marks(const std::string& prefix);

inline constexpr std::size_t kMaxMarkBytes = 4096;
inline constexpr std::string_view kFailureCondition = "AutopilotFailure";

// {"health", "since", "effect", "culprit", "node", "gpu", "finding", "failure", "sentence", "notAvailable"},
// at most kMaxMarkBytes. Node and GPU are set only if the worst open finding accuses them. Equal for equal
// facts: it has no time but that of the finding.
[[nodiscard]] std::string job_health_mark(const jobs::JobReport& report);
// {"kind", "cause", "culprit", "node", "gpu", "rank", "time", "sentence", "notAvailable"}.
[[nodiscard]] std::string job_failure_mark(const jobs::Failure& failure);

// A merge patch that sets one annotation.
[[nodiscard]] std::string annotation_patch(const std::string& name, std::string_view value);

// The patch of `status` that adds the condition to those of the object, or updates it. nullopt: it is there
// already. malformed: not a JSON object. Refused by the server if the object changed since it was read.
[[nodiscard]] Result<std::optional<std::string>> failure_condition_patch(std::string_view object_json,
                                                                         const jobs::Failure& failure,
                                                                         WallTime now);

// The worst open finding; null: none.
[[nodiscard]] const jobs::JobFinding* worst_open(const jobs::JobReport& report);

}  // namespace autopilot::controller
