// SPDX-License-Identifier: Apache-2.0
#include "core/check_info.hpp"

#include <algorithm>
#include <array>

namespace autopilot {
namespace {

constexpr std::array<std::string_view, 3> kCosts{"cheap", "moderate", "expensive"};

}  // namespace

std::string_view to_string(Cost cost) {
  return kCosts.at(static_cast<std::size_t>(cost));
}

std::optional<Cost> parse_cost(std::string_view word) {
  const auto* found = std::ranges::find(kCosts, word);
  if (found == kCosts.end()) return std::nullopt;
  return static_cast<Cost>(found - kCosts.begin());
}

}  // namespace autopilot
