// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "probes/net/iperf/reason.hpp"
#include "probes/net/perftest/arguments.hpp"
#include "probes/net/processes/crew.hpp"

namespace autopilot::probes::net {

// The longest text of such a failure.
inline constexpr std::size_t kLongestFailure = 300;

// No folder of PATH has the program.
[[nodiscard]] Failure failure_without_program(Tool tool);

// It is to use the memory of a GPU, and is built without CUDA.
[[nodiscard]] std::optional<Failure> failure_without_cuda(const PerftestTest& test, bool has_cuda);

// A program that ended otherwise than it should: the reason out of its words, and the last of them.
[[nodiscard]] Failure failure_of_end(const PerftestTest& test, const ChildEnd& end, std::string_view output);

// A program that ended well, and whose figures cannot be read for this.
[[nodiscard]] Failure failure_of_figures(const PerftestTest& test, const Error& error);

// Of the whole sentence.
[[nodiscard]] Failure failure_at(const PerftestTest& test, Reason reason, const std::string& sentence);

}  // namespace autopilot::probes::net
