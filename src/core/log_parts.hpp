// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace autopilot {

// Parts of the kernel log, by reader. A storm in one part does not wake the readers of the other.
enum class LogParts : std::uint8_t {
  none = 0,
  gpu_driver = 1,
  others = 2,
  operator_rules = 4,  // lines that a rule of the operator matches, regardless of their other parts
  all = gpu_driver | others | operator_rules,
};

[[nodiscard]] constexpr LogParts operator|(LogParts a, LogParts b) {
  return static_cast<LogParts>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr bool overlap(LogParts a, LogParts b) {
  return (static_cast<unsigned>(a) & static_cast<unsigned>(b)) != 0;
}

// Reports that such lines were written.
using OnKernelNews = std::function<void(LogParts parts)>;

}  // namespace autopilot
