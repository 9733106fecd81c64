// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "core/clock.hpp"

namespace autopilot::kube {

// Limit of the server's Retry-After: a longer one would stop us until a restart.
inline constexpr Duration kLongestRetryAfter = std::chrono::minutes{10};

struct BackOffTimes {
  Duration first = std::chrono::milliseconds{200};
  Duration last = std::chrono::minutes{1};
  double factor = 2.0;   // >= 1
  double jitter = 0.25;  // >= 0: each wait grows by up to this share
};

// Waits before retries of one operation: longer with every consecutive failure, up to a limit. Pure.
class BackOff {
 public:
  // Records one more failure and returns the wait before the next try. `dice` in [0, 1) selects the jitter.
  // `retry_after` is the server's request (at most kLongestRetryAfter counts): the wait is never shorter.
  [[nodiscard]] Duration fail(const BackOffTimes& times, double dice,
                              std::optional<Duration> retry_after = {});
  // The next failure counts as the first one.
  void reset() { failures_ = 0; }
  // Consecutive failures.
  [[nodiscard]] std::uint32_t failures() const { return failures_; }

 private:
  std::uint32_t failures_ = 0;
};

// A burst, then one at each spacing. Pure. Full at the start.
class TokenBucket {
 public:
  // burst >= 1. A spacing of 0 means no limit.
  TokenBucket(int burst, Duration spacing) : credit_((burst - 1) * spacing), spacing_(spacing) {}

  // True if a token is available; takes it.
  [[nodiscard]] bool take(MonoTime now);
  // Time of the next token: `now` or later.
  [[nodiscard]] MonoTime next(MonoTime now) const;

 private:
  Duration credit_;
  Duration spacing_;
  MonoTime paid_{};  // time by which all taken tokens are due without a burst
};

// Random numbers in [0, 1) for the jitter of pauses, different in each process. Use on one thread.
[[nodiscard]] std::function<double()> dice();

}  // namespace autopilot::kube
