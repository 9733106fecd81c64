// SPDX-License-Identifier: Apache-2.0
#include "host/files/fd.hpp"

#include <algorithm>
#include <cerrno>

#include "core/result.hpp"

namespace autopilot::host {

MonoTime mono_now() {
  return std::chrono::time_point_cast<Duration>(std::chrono::steady_clock::now());
}

bool poll_until(std::span<pollfd> descriptors, MonoTime deadline) {
  while (true) {
    const Duration left = std::clamp<Duration>(deadline - mono_now(), Duration{0}, std::chrono::hours{1});
    const timespec timeout{.tv_sec = left / std::chrono::seconds{1},
                           .tv_nsec = (left % std::chrono::seconds{1}).count()};
    const int ready = ::ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
    if (ready > 0) return true;
    AUTOPILOT_ASSERT(ready == 0 || errno == EINTR || errno == ENOMEM);
    if (mono_now() >= deadline) return false;
  }
}

bool poll_until(int fd, short events, MonoTime deadline) {
  pollfd descriptor{.fd = fd, .events = events, .revents = 0};
  return poll_until({&descriptor, 1}, deadline);
}

}  // namespace autopilot::host
