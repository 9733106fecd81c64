// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

namespace autopilot::probes::gpu {

inline constexpr std::chrono::milliseconds kLook{20};
// After a signal, for what is freed; then the process ends and the kernel frees the rest.
inline constexpr std::chrono::milliseconds kStopping{800};

// From here on SIGTERM, SIGINT and SIGHUP wait until somebody asks for them. Before any thread begins.
void hold_ending_signals();

// Asks every kLook, until it is over or one of those signals came: the signal, or 0.
[[nodiscard]] int wait_until(const std::function<bool()>& is_over);

}  // namespace autopilot::probes::gpu
