// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

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

// More samples than this probe requests in one test.
inline constexpr std::size_t kMostSamples = 3600;

struct Sample {
  double seconds = 0;  // duration
  double bits_per_second = 0;
};

// One direction of a test.
struct Direction {
  double sent_bits_per_second = 0;      // from the sender
  double received_bits_per_second = 0;  // from the receiver
  std::optional<std::int64_t> retransmits;
  std::vector<Sample> samples;  // of received data, without the omitted seconds
};

// Results of one client process. All numbers are from the report; a missing number is not replaced by a
// default.
struct IperfResult {
  std::optional<Direction> to_peer;
  std::optional<Direction> from_peer;
  std::optional<double> cpu_percent;  // of one processor
  std::optional<double> peer_cpu_percent;
  std::optional<std::int64_t> mss_bytes;
  std::string version;       // "iperf 3.12"
  std::string peer_version;  // empty if the peer does not report it
};

// Parses the JSON report of an iperf3 3.x client whose TCP test has finished. malformed: not such a report,
// or a number is missing or invalid; the text names it. exhausted: more than kMostSamples.
[[nodiscard]] Result<IperfResult> parse_iperf_result(std::string_view report_text);

}  // namespace autopilot::probes::net
