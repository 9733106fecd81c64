// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/brain.hpp"
#include "kube/job_health_reports.hpp"

// What a leader stores about a job for the next one: JSON in the status of its JobHealthReport. Pure.
namespace autopilot::controller {

inline constexpr std::size_t kMaxMemoryBytes = kube::JobHealthReport::kMaxMemoryBytes;
inline constexpr std::size_t kMostRememberedFindings = 24;
inline constexpr std::size_t kMostRememberedFeedback = 16;

// Findings without evidence, the last message about each, acknowledgements, feedback, the end of a mute, and
// the actions of the last day. At most kMaxMemoryBytes: the oldest feedback is left out first, then ended
// findings, then the least severe of the open ones. Empty: there is nothing to store.
[[nodiscard]] std::string format_job_memory(const jobs::JobReport& report);

// The members of a report that format_job_memory writes, for that job. The text is untrusted: a mute ends
// within 30 days, and no other time is later than `now`. malformed: anything that format_job_memory does not
// write.
[[nodiscard]] Result<jobs::JobReport> parse_job_memory(std::string_view text, std::string_view job,
                                                       WallTime now);

}  // namespace autopilot::controller
