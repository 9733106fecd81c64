// SPDX-License-Identifier: Apache-2.0
#include "host/clock/system_clock.hpp"

#include <cerrno>
#include <sys/timex.h>

namespace autopilot::host {

void add_clocksource(const Files& files, TimeSyncState& state) {
  constexpr std::string_view kClocksource = "/sys/devices/system/clocksource/clocksource0/";
  if (auto current = files.read_word(std::string(kClocksource) + "current_clocksource"))
    state.clocksource = std::move(*current);
  if (auto available = files.read_word(std::string(kClocksource) + "available_clocksource"))
    state.available_clocksources = std::move(*available);
}

Result<TimeSyncState> SystemTimeSync::read() const {
  timex query{};
  const int kernel_state = ::adjtimex(&query);
  if (kernel_state < 0) return fail_errno(errno, "adjtimex");
  TimeSyncState state;
  state.synchronised = (query.status & STA_UNSYNC) == 0;
  state.clock_error = kernel_state == TIME_ERROR;
  // The kernel counts the offset in microseconds unless STA_NANO is set.
  state.offset_ns = (query.status & STA_NANO) != 0 ? query.offset : query.offset * 1000;
  state.max_error_us = query.maxerror;
  state.estimated_error_us = query.esterror;
  add_clocksource(files_, state);
  return state;
}

}  // namespace autopilot::host
