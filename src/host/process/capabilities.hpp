// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/result.hpp"

namespace autopilot::host {

// Capabilities as a set of bits, by the numbers of <linux/capability.h>.
using Capabilities = std::uint64_t;

inline constexpr Capabilities kNoCapabilities = 0;
inline constexpr Capabilities kReadKernelLog = Capabilities{1} << 34;  // CAP_SYSLOG

// Gives up all others, for ever: programs that are started get none, also as root and from their files. For
// the calling thread and what it starts: the process must have one.
[[nodiscard]] Status keep_capabilities(Capabilities kept);

}  // namespace autopilot::host
