// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "jobs/metrics.hpp"

// Metrics and their values in sentences for a person.
namespace autopilot::jobs {

// "SM clock", "NIC retransmissions".
[[nodiscard]] std::string_view title_of(Metric metric);

// With the unit: "1410 MHz", "35 %", "21.4 GB/s", "12 a minute" (counts are rates), "x16", "unknown" (not
// finite).
[[nodiscard]] std::string amount_of(Metric metric, double value);

// "SM clock is 1410 MHz, the median of 31 peers is 1755 MHz (threshold 1667 MHz)". `peers`: their number, 0:
// not stated.
[[nodiscard]] std::string compare_amounts(Metric metric, double value, double median, double threshold,
                                          unsigned peers);

}  // namespace autopilot::jobs
