// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "portability/glibc.hpp"

namespace autopilot::portability {
namespace {

// Says in a condition that deadlines are of CLOCK_MONOTONIC, as pthread_condattr_setclock has
// pthread_cond_init say it. It is read at the beginning of each wait, and is the same bit from 2.25 to the
// version that has pthread_cond_clockwait.
constexpr unsigned int kMonotonic = 2;

}  // namespace

int wait_by_clock(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                  const timespec* deadline) {
  // The initialiser of std::condition_variable says CLOCK_REALTIME, where a date that is set back by an hour
  // makes the wait an hour longer.
  std::atomic_ref<unsigned int> flags(condition->__data.__wrefs);
  const bool is_monotonic = (flags.load(std::memory_order_relaxed) & kMonotonic) != 0;
  if (clock == CLOCK_MONOTONIC && !is_monotonic) flags.fetch_or(kMonotonic, std::memory_order_relaxed);
  if (clock == CLOCK_REALTIME && is_monotonic) flags.fetch_and(~kMonotonic, std::memory_order_relaxed);
  return ::pthread_cond_timedwait(condition, mutex, deadline);
}

}  // namespace autopilot::portability
