// SPDX-License-Identifier: Apache-2.0
#include "cli/output/gigabits.hpp"

#include <array>
#include <cstdio>

namespace autopilot::cli {

std::string gigabits(double rate) {
  constexpr double kGiga = 1e9;
  const double giga = rate / kGiga;
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), giga >= 100 ? "%.0f" : giga >= 10 ? "%.1f" : "%.2f", giga);
  return text.data();
}

}  // namespace autopilot::cli
