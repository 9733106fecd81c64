// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "probes/gpu/driver/driver.hpp"

namespace autopilot::probes::gpu {

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
