// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>
#include <span>

#include "core/clock.hpp"

namespace autopilot::host {

// CLOCK_MONOTONIC, for the deadlines of blocking calls in this folder.
[[nodiscard]] MonoTime mono_now();

// poll(2) until something is ready (true) or the deadline has passed (false). Descriptors below 0 are
// skipped.
[[nodiscard]] bool poll_until(std::span<pollfd> descriptors, MonoTime deadline);
// The same for one descriptor.
[[nodiscard]] bool poll_until(int fd, short events, MonoTime deadline);

}  // namespace autopilot::host
