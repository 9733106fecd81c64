// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "probes/net/iperf/reason.hpp"
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

}  // namespace autopilot::probes::net
