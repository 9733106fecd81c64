// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/patience.hpp"

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
  const timespec interval{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(kPollInterval).count()};
  while (!is_over())
    if (const int number = sigtimedwait(&signals, nullptr, &interval); number > 0) return number;
  return 0;
}

bool Patience::is_over() {
  const std::uint64_t calls = watch_->calls;
  const char* call = watch_->call;
  if (call == nullptr || calls != calls_) {
    calls_ = calls;
    since_ = Clock::now();
    return false;
  }
  if (std::chrono::duration<double>(Clock::now() - since_).count() < seconds_) return false;
  text_ = std::string(call) + " has not returned for " + std::to_string(static_cast<long>(seconds_)) + " s";
  if (const char* peer = watch_->peer) text_ += ", with " + std::string(peer);
  if (const char* kernel = watch_->kernel) text_ += "; the last kernel was " + std::string(kernel);
  return true;
}

}  // namespace autopilot::probes::gpu
