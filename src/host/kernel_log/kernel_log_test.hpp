// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>

#include "core/clock.hpp"

namespace autopilot::host {

// Stands still at 1,000 s after boot until it is told otherwise.
class FixedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    const std::chrono::nanoseconds since_boot = since_boot_.load();
    return {WallTime(std::chrono::seconds(1'700'000'000)) + since_boot, MonoTime(since_boot)};
  }
  void set(Duration since_boot) { since_boot_ = since_boot; }

 private:
  std::atomic<std::chrono::nanoseconds> since_boot_{std::chrono::seconds(1000)};
};

// The clocks of the machine that runs the test.
class MachineClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    return {std::chrono::system_clock::now(), std::chrono::steady_clock::now()};
  }
};

}  // namespace autopilot::host
