// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "core/clock.hpp"

namespace autopilot::host {

// The clocks of the running machine: CLOCK_REALTIME and CLOCK_MONOTONIC.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    return {.wall = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()),
            .mono = std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now())};
  }
};

}  // namespace autopilot::host
