// SPDX-License-Identifier: Apache-2.0
#include "learning/intervals/intervals.hpp"

#include <algorithm>

namespace autopilot::learning {
namespace {

constexpr double kMostWithoutEvent = 2.995732273553991;  // -ln(0.05)

}  // namespace

Interval count_bounds(std::uint64_t events) {
  return events == 0 ? Interval{0, kMostWithoutEvent} : poisson_bounds(events);
}

double rule_of_three(std::uint64_t trials) {
  return trials == 0 ? 1 : std::min(1.0, kMostWithoutEvent / static_cast<double>(trials));
}

}  // namespace autopilot::learning
