// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/process/child.hpp"

// The program that measures bandwidth between two nodes, autopilot-net-probe: how it is started and what it
// says (docs/net-probe.md).
namespace autopilot::nettest {

// Longer ones are not read.
inline constexpr std::size_t kMaxNetProbeReport = std::size_t{256} << 10;
// Addresses that one server can tell from all others.
inline constexpr std::size_t kMostHeard = 64;

// One end that is listened at.
struct BandwidthServer {
  std::string address;               // of this node
  int processes = 1;                 // each with a port of its own
  int first_port = 0;                // the others follow it; 0: the kernel chooses them
  int seconds = 0;                   // then all end
  std::vector<std::string> allowed;  // addresses; nobody else is heard. At most kMostHeard
};

// One test of the other end, one way.
struct BandwidthTest {
  std::string address;     // of this node
  std::string to;          // of the other one
  std::vector<int> ports;  // one for each process
  int streams = 1;         // of each process
  int seconds = 0;
  bool from_peer = false;                  // the other end sends
  std::optional<std::uint64_t> most = {};  // bits/s, of all together; nothing: what the network has
};

// The same by RDMA, with the programs of perftest. Of such a server the processes are one for each of them.
struct RdmaServer {
  std::string address;   // of this node, IPv4, where it listens for who wants to test
  std::string port;      // "mlx5_0/1"
  int seconds = 0;       // then all end
  int test_seconds = 0;  // both ends must say the same
  std::string gpu = {};  // in whose memory its buffers are, by PCI address; empty: in that of the host
};
// Both ways: what is written to the other end, and what is read of it.
struct RdmaTest {
  std::string address;                     // of this node, IPv4
  std::string port;                        // "mlx5_0/1"
  std::string to;                          // of the other one, IPv4
  std::vector<int> ports;                  // of its processes
  int seconds = 0;                         // each way
  std::optional<std::uint64_t> most = {};  // bits/s; nothing: what the network has
  std::string gpu = {};                    // see RdmaServer
};

// What a port writes to itself.
struct RdmaLoopback {
  std::string port;  // "mlx5_0/1"
  int seconds = 0;
  std::string gpu = {};  // see RdmaServer
};

struct Carried {
  double sent = 0;      // bits/s, by the word of the end that sent
  double received = 0;  // by the word of the other one
};
struct Bandwidth {
  Carried all;                       // the sum over all processes
  std::vector<double> samples = {};  // bits/s that arrived, second by second
  std::vector<Carried> processes = {};
};
// What came of a test: `measured`, or why nothing was.
struct BandwidthReport {
  std::optional<Bandwidth> measured;
  std::string reason;         // one word of docs/net-probe.md: "refused", "timed_out"
  std::string error;          // the same as a sentence
  bool came_through = false;  // something did, though not all of it was measured
};

// Of a message of two bytes to the other end; microseconds.
struct RdmaLatency {
  double typical = 0;  // the middle
  double p99 = 0;
  double most = 0;
};
struct RdmaBandwidth {
  Bandwidth to_peer;
  Bandwidth from_peer;
  std::optional<RdmaLatency> latency;  // nothing: it failed after both ways were measured
};
// What came of it: `measured`, or why one of both ways was not.
struct RdmaReport {
  std::optional<RdmaBandwidth> measured;
  std::string reason;  // as of a BandwidthReport, like the next ones
  std::string error;
  bool came_through = false;
};

// The program beside this one. not_found: it is not there.
[[nodiscard]] Result<std::string> net_probe_program();
[[nodiscard]] host::Command command_of(const std::string& program, const BandwidthServer& server);
[[nodiscard]] host::Command command_of(const std::string& program, const BandwidthTest& test);
[[nodiscard]] host::Command command_of(const std::string& program, const RdmaServer& server);
[[nodiscard]] host::Command command_of(const std::string& program, const RdmaTest& test);
[[nodiscard]] host::Command command_of(const std::string& program, const RdmaLoopback& test);

// The line that a server writes when it listens, as the ports of its processes. unavailable: one of them does
// not listen, and why. malformed: no such line. Pure, like the next one.
[[nodiscard]] Result<std::vector<int>> parse_listening(std::string_view line);
// What a test wrote, of the way that was asked for. malformed: no such report, or one without a reason and
// without that way.
[[nodiscard]] Result<BandwidthReport> parse_bandwidth(std::string_view text, bool from_peer);
// malformed: no such report, or one without a reason in which something is missing. Both ways count whatever
// became of the latency, which comes last.
[[nodiscard]] Result<RdmaReport> parse_rdma(std::string_view text);

}  // namespace autopilot::nettest
