// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/result.hpp"

namespace autopilot::probes::net {

// Of one message, one way.
struct PerftestLatency {
  double typical_microseconds = 0;
  double p99_microseconds = 0;
  double max_microseconds = 0;
};

// Bits per second, out of what ib_write_bw or ib_read_bw prints at its end. malformed: there is no table, or
// more than one row, a column is missing, the unit is another, or a number is none; the text says which.
[[nodiscard]] Result<double> parse_perftest_bandwidth(std::string_view output);

// The same of ib_send_lat.
[[nodiscard]] Result<PerftestLatency> parse_perftest_latency(std::string_view output);

}  // namespace autopilot::probes::net
