// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "probes/net/iperf/reason.hpp"

namespace autopilot::probes::net {

// Lines that a server process writes.
[[nodiscard]] std::string line_of_listening();
[[nodiscard]] std::string line_of_test();
[[nodiscard]] std::string line_of_failure(int code, int errno_value);

struct ServerState {
  bool is_listening = false;
  std::size_t tests = 0;                // finished tests
  std::optional<IperfError> failure{};  // set if listening failed
};

// The state of a server from its output so far. Truncated and unknown lines are ignored.
[[nodiscard]] ServerState read_server_output(std::string_view output);

}  // namespace autopilot::probes::net
