// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "probes/net/iperf/reason.hpp"
#include "probes/net/iperf/result.hpp"

namespace autopilot::probes::net {

// What a client process says at its end: on a line libiperf's number of its last error and that of the first
// call on a socket that failed, then libiperf's JSON, which says whether the error ended the test.
[[nodiscard]] std::string client_output(int code, int errno_value, std::string_view json);

// What it measured, or why not. `place` is whom it was about.
[[nodiscard]] std::variant<IperfResult, Failure> read_client_output(std::string_view output,
                                                                    const std::string& place);

// Whether it failed before it began, at a peer that may be between two tests: for a while it does not listen,
// and breaks the connections that nobody took.
[[nodiscard]] bool may_be_a_pause(std::string_view output);

}  // namespace autopilot::probes::net
