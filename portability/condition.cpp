// SPDX-License-Identifier: Apache-2.0
#include <atomic>

#include "portability/glibc.hpp"

namespace autopilot::portability {
namespace {

// Flag in a condition variable: deadlines are of CLOCK_MONOTONIC. pthread_cond_init sets it after
// pthread_condattr_setclock. glibc reads it at the start of each wait, and it is the same bit from 2.25 to
// the first version with pthread_cond_clockwait.
constexpr unsigned int kMonotonic = 2;

}  // namespace

int wait_by_clock(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                  const timespec* deadline) {
  // std::condition_variable is initialised with CLOCK_REALTIME, where setting the date back by an hour makes
  // a wait an hour longer.
  std::atomic_ref<unsigned int> flags(condition->__data.__wrefs);
  const bool is_monotonic = (flags.load(std::memory_order_relaxed) & kMonotonic) != 0;
  if (clock == CLOCK_MONOTONIC && !is_monotonic) flags.fetch_or(kMonotonic, std::memory_order_relaxed);
  if (clock == CLOCK_REALTIME && is_monotonic) flags.fetch_and(~kMonotonic, std::memory_order_relaxed);
  return ::pthread_cond_timedwait(condition, mutex, deadline);
}

}  // namespace autopilot::portability
