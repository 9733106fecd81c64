// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/run/patience.hpp"

namespace autopilot::probes::gpu {

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
