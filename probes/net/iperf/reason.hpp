// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace autopilot::probes::net {

// Why something could not be measured or served; docs/net-probe.md explains the words.
enum class Reason : std::uint8_t {
  refused,        // nobody listens there
  unreachable,    // a router or the kernel says that nobody has the address
  no_route,       // this machine knows no way
  no_address,     // what was to be bound is not of this machine
  timed_out,      // no answer within the time
  busy,           // the peer is in another test
  wrong_version,  // the peer does not speak the protocol of iperf3
  peer_vanished,  // the connection broke in the middle
  port_taken,     // somebody else listens on the port
  denied,         // this machine or the peer does not permit it
  garbage,        // what was measured cannot be read
  killed,         // a signal ended the process that measured
  no_program,     // what measures is not installed here
  no_cuda,        // a program of perftest that cannot use the memory of a GPU
  no_end,         // a test that had begun did not end in its time, and nobody knows why
  internal,       // anything else
};

[[nodiscard]] std::string_view to_string(Reason reason);

struct Failure {
  Reason reason = Reason::internal;
  std::string text;  // one sentence
};

// What libiperf says of a test that failed.
struct IperfError {
  int code = 0;         // its own number
  int errno_value = 0;  // of the call that failed, where one did
  std::string text;     // its words
};

// The reason, and libiperf's words. `place` is whom it was about: "10.0.0.2 port 5201".
[[nodiscard]] Failure failure_of(const IperfError& error, const std::string& place);

// The number of the error that libiperf's words end with, as in "...: Connection refused"; 0 where they end
// otherwise.
[[nodiscard]] int errno_at_end_of(std::string_view text);

}  // namespace autopilot::probes::net
