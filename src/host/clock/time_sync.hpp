// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"

namespace autopilot::host {

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

}  // namespace autopilot::host
