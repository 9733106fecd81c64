// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "probes/net/iperf/reason.hpp"

namespace autopilot::probes::net {

// The lines that a server process says.
[[nodiscard]] std::string line_of_listening();
[[nodiscard]] std::string line_of_test();
[[nodiscard]] std::string line_of_failure(int code, int errno_value);

struct ServerState {
  bool is_listening = false;
  std::size_t tests = 0;                // that came to their end
  std::optional<IperfError> failure{};  // nobody can listen
};

// What a server has said so far. A line that is cut off, or that no server says, counts for nothing.
[[nodiscard]] ServerState read_server_output(std::string_view output);

}  // namespace autopilot::probes::net
