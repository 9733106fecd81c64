// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/signals.hpp"

#include <csignal>

namespace autopilot::probes::gpu {
namespace {

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&signals, number);
  return signals;
}

}  // namespace

void hold_ending_signals() {
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

int wait_until(const std::function<bool()>& is_over) {
  const sigset_t signals = ending_signals();
  const timespec look{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kLook).count()};
  while (!is_over())
    if (const int number = sigtimedwait(&signals, nullptr, &look); number > 0) return number;
  return 0;
}

}  // namespace autopilot::probes::gpu
