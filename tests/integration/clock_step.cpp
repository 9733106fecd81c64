// SPDX-License-Identifier: Apache-2.0
// Loaded before a program (LD_PRELOAD): the date jumps by two hours every second, forth and back. Clocks that
// count from the start of the machine are left alone.
#include <ctime>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

time_t step() {
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return now.tv_sec % 2 == 0 ? 3600 : -3600;
}

}  // namespace

// The names of their parameters in the C library are not ours to use.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const auto result = static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  const bool is_date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
  if (result == 0 && is_date) now->tv_sec += step();
  return result;
}

extern "C" int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec date{};
  ::clock_gettime(CLOCK_REALTIME, &date);
  now->tv_sec = date.tv_sec;
  now->tv_usec = date.tv_nsec / 1000;
  return 0;
}

extern "C" time_t time(time_t* place) noexcept {
  timespec date{};
  ::clock_gettime(CLOCK_REALTIME, &date);
  if (place != nullptr) *place = date.tv_sec;
  return date.tv_sec;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
