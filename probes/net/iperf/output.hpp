// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "probes/net/iperf/result.hpp"

namespace autopilot::probes::net {

// Output of a client process at its end: a line with the number of libiperf's last error and that of the
// first failed socket call, then libiperf's JSON, which shows whether the error ended the test.
[[nodiscard]] std::string client_output(int code, int errno_value, std::string_view json);

// The measurement, or why it failed. `place` names the peer.
[[nodiscard]] std::variant<IperfResult, Failure> read_client_output(std::string_view output,
                                                                    const std::string& place);

// True if it failed before the test started, at a peer that can be between two tests: such a peer does not
// listen for a moment, and resets connections that it has not accepted.
[[nodiscard]] bool may_be_a_pause(std::string_view output);

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
