// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/swap.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

namespace autopilot::jobs {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSwapMargin = 10min;
constexpr Duration kUsualInterval = 1h;  // assumption, if the interval is unknown
constexpr Duration kShortestDeadline = 30min;
constexpr Duration kLongestDeadline = 12h;

std::optional<Duration> interval_of(const JobState& job) {
  const auto seconds = job.checkpoint_interval_s;
  if (!seconds || !std::isfinite(*seconds) || *seconds <= 0) return std::nullopt;
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::min(*seconds, to_seconds(kLongestDeadline))));
}

}  // namespace

SwapState state_of_swap(WallTime begun, const JobState& job, WallTime now) {
  if (now - begun >= kLongestDeadline)
    return {SwapTurn::give_up, "its pods could not move within " + format_duration(kLongestDeadline)};
  if (job.last_checkpoint && *job.last_checkpoint > begun)
    return {SwapTurn::move, "a checkpoint ended at " + format_time(*job.last_checkpoint)};
  const auto interval = interval_of(job);
  if (interval && job.last_checkpoint && job.last_step && *job.last_step >= begun + *interval + kSwapMargin)
    return {SwapTurn::move, "the job has gone on for longer than its interval of checkpoints, " +
                                format_duration(*interval) + ", since it was asked for one"};
  const Duration deadline =
      std::clamp(2 * interval.value_or(kUsualInterval) + kSwapMargin, kShortestDeadline, kLongestDeadline);
  if (now - begun < deadline) return {};
  return {SwapTurn::give_up, "no checkpoint ended within " + format_duration(deadline)};
}

}  // namespace autopilot::jobs
