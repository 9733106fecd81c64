// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "probes/net/iperf/result.hpp"
#include "probes/net/machine/interfaces.hpp"

namespace autopilot::probes::net {

// Direction of the data in a test, from the client's view.
enum class Flow : std::uint8_t { to_peer, from_peer, both };

// One test by one client process.
struct ClientTest {
  std::string to;
  int port = 0;
  std::optional<std::string> source;     // local address
  std::optional<std::string> interface;  // local interface; no other is used
  int streams = 1;
  int seconds = 1;
  int omit_seconds = 0;  // at the start, not counted
  double sample_seconds = 1;
  Flow flow = Flow::to_peer;
  std::optional<std::uint64_t> stream_bits_per_second;  // limit of one stream
  bool wants_peer_report = true;  // iperf3's own report, with a line for each stream and second
  int connect_seconds = 5;
  int silence_seconds = 10;  // without an acknowledgement or received data: the test ends
};

// One server process: runs one test at a time, one after the other.
struct ServerTest {
  std::string address;
  int port = 0;
  std::vector<Address> allowed;  // empty: all
  bool is_once = false;          // one test only
  int silence_seconds = 10;
};

// The test as arguments of the program iperf3, starting with its name.
[[nodiscard]] std::vector<std::string> client_arguments(const ClientTest& test);
[[nodiscard]] std::vector<std::string> server_arguments(const ServerTest& test);

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
