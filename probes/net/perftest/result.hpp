// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "probes/net/iperf/result.hpp"
#include "probes/net/perftest/arguments.hpp"
#include "probes/net/processes/crew.hpp"

namespace autopilot::probes::net {

// Longest text of such a failure.
inline constexpr std::size_t kLongestFailure = 300;

// The program is not in PATH.
[[nodiscard]] Failure failure_without_program(Tool tool);

// The test needs GPU memory, and the program is built without CUDA.
[[nodiscard]] std::optional<Failure> failure_without_cuda(const PerftestTest& test, bool has_cuda);

// A program that failed: the reason from its output, and its last lines.
[[nodiscard]] Failure failure_of_end(const PerftestTest& test, const ChildEnd& end, std::string_view output);

// A program that succeeded, but whose results are malformed; the text has the cause.
[[nodiscard]] Failure failure_of_figures(const PerftestTest& test, const Error& error);

// Adds the name of the test to the sentence.
[[nodiscard]] Failure failure_at(const PerftestTest& test, Reason reason, const std::string& sentence);

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
