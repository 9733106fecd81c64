// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace autopilot {

using Duration = std::chrono::nanoseconds;
// Wall clock, UTC. For people, the journal and other machines; it can jump.
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;
// CLOCK_MONOTONIC. For periods, deadlines and rates; it never jumps and restarts at boot.
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

// One moment on both clocks.
struct Instant {
  WallTime wall{};
  MonoTime mono{};
};

// The only source of time below host/. Thread-safe.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  virtual ~Clock() = default;
  [[nodiscard]] virtual Instant now() const = 0;
};

// RFC 3339 in UTC with milliseconds: "2026-11-21T03:04:05.678Z".
[[nodiscard]] std::string format_time(WallTime time);
// Accepts the output of format_time, with any number of fraction digits and with an offset instead of Z.
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text);

// "250ms", "2s", "1m30s", "12h", "7d": for people and configuration. Exact to the nanosecond.
[[nodiscard]] std::string format_duration(Duration duration);
// Accepts the output of format_duration for a duration that is not negative; each part can have a fraction
// ("1.5h").
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);

[[nodiscard]] inline double to_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace autopilot
