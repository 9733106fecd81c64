// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

namespace autopilot::probes::gpu {

inline constexpr std::chrono::milliseconds kLook{20};
// Time to free resources after a signal; then the process ends and the kernel frees the rest.
inline constexpr std::chrono::milliseconds kStopping{800};

// From now on SIGTERM, SIGINT and SIGHUP are pending until wait_until() takes them. Call it before any thread
// starts.
void hold_ending_signals();

// Polls at kLook until it is over or one of those signals arrives: returns the signal, or 0.
[[nodiscard]] int wait_until(const std::function<bool()>& is_over);

}  // namespace autopilot::probes::gpu
