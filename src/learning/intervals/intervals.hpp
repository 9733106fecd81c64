// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/intervals.hpp"

// Bounds of counts that may be 0.
namespace autopilot::learning {

// As poisson_bounds. But without an event the high bound is that of one side: 3.0 (rule of three).
[[nodiscard]] Interval count_bounds(std::uint64_t events);

// Upper bound of 95 % of a share of which `trials` trials had no event: 3 / trials, at most 1.
[[nodiscard]] double rule_of_three(std::uint64_t trials);

}  // namespace autopilot::learning
