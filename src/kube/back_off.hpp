// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/clock.hpp"

namespace autopilot::kube {

// A wish of the server beyond this is not taken at its word: it would stop us until somebody restarts us.
inline constexpr Duration kLongestRetryAfter = std::chrono::minutes{10};

struct BackOffTimes {
  Duration first = std::chrono::milliseconds{200};
  Duration last = std::chrono::minutes{1};
  double factor = 2.0;   // >= 1
  double jitter = 0.25;  // >= 0: each wait grows by up to this share of itself
};

// How long to wait before one thing is tried again: longer with every failure in a row, up to a limit. Pure.
class BackOff {
 public:
  // One more failure: the wait until the next try. `dice` in [0, 1) picks the jitter. `retry_after` is what
  // the server asked for (at most kLongestRetryAfter counts): the wait is never shorter, and varies above it.
  [[nodiscard]] Duration fail(const BackOffTimes& times, double dice,
                              std::optional<Duration> retry_after = {});
  // The next failure is the first one again.
  void reset() { failures_ = 0; }
  // In a row.
  [[nodiscard]] std::uint32_t failures() const { return failures_; }

 private:
  std::uint32_t failures_ = 0;
};

}  // namespace autopilot::kube
