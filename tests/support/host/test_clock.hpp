// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>

#include "core/clock.hpp"

namespace autopilot::host {

// For tests: a clock that does not advance; starts at 1,000 s after boot.
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

}  // namespace autopilot::host
