// SPDX-License-Identifier: Apache-2.0
#include "cli/output/paint.hpp"

#include <algorithm>

namespace autopilot::cli {

std::string_view color_of(Health health) {
  switch (health) {
    case Health::healthy:
      return "\033[32m";
    case Health::degraded:
      return "\033[33m";
    case Health::failed:
      return "\033[1;31m";
    case Health::unknown:
      return "\033[35m";
    case Health::unsupported:
      return "\033[2m";
  }
  return "";
}

std::string painted(std::string_view text, std::string_view color, const TableStyle& style) {
  if (!style.color || color.empty()) return std::string(text);
  return std::string(color) + std::string(text) + "\033[0m";
}

std::string simulated_word(const TableStyle& style) {
  return painted("SIMULATED", "\033[1;36m", style);
}

std::string simulated_line(bool is_simulated, const TableStyle& style) {
  return is_simulated ? simulated_word(style) + "\n" : "";
}

std::string padded(std::string_view text, std::size_t width) {
  std::string cell(text);
  cell.resize(std::max(width, cell.size() + 1), ' ');
  return cell;
}

}  // namespace autopilot::cli
