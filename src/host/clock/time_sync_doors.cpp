// SPDX-License-Identifier: Apache-2.0
#include "host/clock/time_sync_doors.hpp"

#include <cerrno>
#include <sys/timex.h>

namespace autopilot::host {
namespace {

constexpr std::string_view kClocksource = "/sys/devices/system/clocksource/clocksource0/";

// A machine without the files (a container that hides sysfs) keeps the words empty.
void add_clocksource(const Files& files, TimeSyncState& state) {
  if (auto current = files.read_word(std::string(kClocksource) + "current_clocksource"))
    state.clocksource = std::move(*current);
  if (auto available = files.read_word(std::string(kClocksource) + "available_clocksource"))
    state.available_clocksources = std::move(*available);
}

}  // namespace

Result<TimeSyncState> SystemTimeSync::read() const {
  timex query{};
  const int kernel_state = ::adjtimex(&query);
  if (kernel_state < 0) return fail_errno(errno, "adjtimex");
  TimeSyncState state;
  state.synchronised = (query.status & STA_UNSYNC) == 0;
  state.clock_error = kernel_state == TIME_ERROR;
  // The kernel counts the offset in microseconds unless it was told nanoseconds.
  state.offset_ns = (query.status & STA_NANO) != 0 ? query.offset : query.offset * 1000;
  state.max_error_us = query.maxerror;
  state.estimated_error_us = query.esterror;
  add_clocksource(files_, state);
  return state;
}

Result<TimeSyncState> TreeTimeSyncDoor::read() const {
  const auto tree = TRY(tree_.read());
  const auto& time_sync = tree->time_sync;
  if (!time_sync)
    return fail(Errc::unavailable, tree->directory + "/machine.yaml: says nothing of time_sync");
  if (time_sync->error) return fail(*time_sync->error, "adjtimex: as the machine tree says");
  TimeSyncState state = time_sync->state;
  add_clocksource(files_, state);
  return state;
}

}  // namespace autopilot::host
