// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "probes/gpu/driver/driver.hpp"

namespace autopilot::probes::gpu {

inline constexpr std::chrono::milliseconds kPollInterval{20};
// Time to free resources after a signal; then the process ends and the kernel frees the rest.
inline constexpr std::chrono::milliseconds kStopping{800};

// From now on SIGTERM, SIGINT and SIGHUP are pending until wait_until() takes them. Call it before any thread
// starts.
void hold_ending_signals();

// Polls at kPollInterval until it is over or one of those signals arrives: returns the signal, or 0.
[[nodiscard]] int wait_until(const std::function<bool()>& is_over);

// Detects a thread that is in one call for too long. Called repeatedly by one other thread.
class Patience {
 public:
  // `watch` must outlive it.
  Patience(const Watch& watch, double seconds) : watch_(&watch), seconds_(seconds) {}

  [[nodiscard]] bool is_over();
  // About the call that is_over() last reported: "cuInit has not returned for 30 s".
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  using Clock = std::chrono::steady_clock;

  const Watch* watch_;
  double seconds_;
  std::uint64_t calls_ = 0;  // last time of a new call
  Clock::time_point since_ = Clock::now();
  std::string text_;
};

}  // namespace autopilot::probes::gpu
