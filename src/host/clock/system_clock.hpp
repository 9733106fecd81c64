// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// The clocks of the running machine: CLOCK_REALTIME and CLOCK_MONOTONIC.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override {
    return {.wall = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()),
            .mono = std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now())};
  }
};

// The kernel's own judgement of its clock (adjtimex) and what it counts with.
struct TimeSyncState {
  bool synchronised = false;  // STA_UNSYNC is not set
  bool clock_error = false;   // state is TIME_ERROR
  std::int64_t offset_ns = 0;
  std::int64_t max_error_us = 0;
  std::int64_t estimated_error_us = 0;
  std::string clocksource;             // "tsc"
  std::string available_clocksources;  // "tsc hpet acpi_pm"
};

class TimeSync {
 public:
  TimeSync() = default;
  TimeSync(const TimeSync&) = delete;
  TimeSync& operator=(const TimeSync&) = delete;
  virtual ~TimeSync() = default;
  [[nodiscard]] virtual Result<TimeSyncState> read() const = 0;
};

// The running machine: adjtimex (reading needs no right) and the clock source of sysfs.
class SystemTimeSync final : public TimeSync {
 public:
  explicit SystemTimeSync(const Files& files) : files_(files) {}
  [[nodiscard]] Result<TimeSyncState> read() const override;

 private:
  const Files& files_;
};

// The clock source of sysfs. Both texts stay empty without these files, as in a container that hides sysfs.
void add_clocksource(const Files& files, TimeSyncState& state);

}  // namespace autopilot::host
