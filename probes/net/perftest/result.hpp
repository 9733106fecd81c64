// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "core/result.hpp"

namespace autopilot::probes::net {

// Of one message, in one direction.
struct PerftestLatency {
  double typical_microseconds = 0;
  double p99_microseconds = 0;
  double max_microseconds = 0;
};

// Bits per second, from the output of ib_write_bw or ib_read_bw. malformed: a missing table, more than one
// row, a missing column, another unit, or an invalid number; the text names it.
[[nodiscard]] Result<double> parse_perftest_bandwidth(std::string_view output);

// The same for ib_send_lat.
[[nodiscard]] Result<PerftestLatency> parse_perftest_latency(std::string_view output);

}  // namespace autopilot::probes::net
