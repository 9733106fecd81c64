// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace autopilot::probes::net {

// Why a measurement or a server failed; see docs/net-probe.md.
enum class Reason : std::uint8_t {
  refused,        // connection refused: no program listens on the port
  unreachable,    // a router or the kernel reports the address as unreachable
  no_route,       // this machine has no route
  no_address,     // the address to bind is not of this machine
  timed_out,      // no response within the time limit
  busy,           // the peer is running another test
  wrong_version,  // the peer does not use the iperf3 protocol
  peer_vanished,  // the connection broke during the test
  port_taken,     // another program listens on the port
  denied,         // this machine or the peer does not permit it
  garbage,        // the results are malformed
  killed,         // a signal ended the measuring process
  no_program,     // the measuring program is not installed
  no_cuda,        // the perftest program does not support GPU memory
  no_end,         // a started test did not end in time, for an unknown reason
  internal,       // anything else
};

[[nodiscard]] std::string_view to_string(Reason reason);

struct Failure {
  Reason reason = Reason::internal;
  std::string text;  // one sentence
};

// Error of a failed libiperf test.
struct IperfError {
  int code = 0;         // libiperf's own number
  int errno_value = 0;  // of the failed call, if there is one
  std::string text;     // libiperf's message
};

// The reason and libiperf's message. `place` names the peer: "10.0.0.2 port 5201".
[[nodiscard]] Failure failure_of(const IperfError& error, const std::string& place);

// The errno whose text ends the message of libiperf, as in "...: Connection refused"; 0 if there is none.
[[nodiscard]] int errno_at_end_of(std::string_view text);

}  // namespace autopilot::probes::net
