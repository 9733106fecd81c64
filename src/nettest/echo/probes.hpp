// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/gpu/gpus.hpp"
#include "host/process/child.hpp"

namespace autopilot::nettest {

// The program that measures bandwidth between two nodes, autopilot-net-probe: how it is started and what it
// says (docs/net-probe.md).

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

// The program that measures GPUs, autopilot-gpu-probe, as an end of an all-reduce between nodes: how it is
// started and what it says (docs/gpu-probe.md). gpu_probe_program() names it.

// Longer ones are not read.
inline constexpr std::size_t kMaxNcclProbeReport = std::size_t{64} << 10;

// Seconds in one call of a driver, and for the other end to come.
inline constexpr int kNcclPatience = 20;

// The GPUs of one node, in an all-reduce with those of others.
struct AllReduceEnd {
  std::string address;  // of this node: over its interface the ends find each other
  int gpus = 0;         // the first so many of this node
  int ranks = 0;        // GPUs of all nodes together
  int seconds = 0;      // that count
  host::GpuVendor vendor = host::GpuVendor::nvidia;
};
// The end that waits for the others. Its ranks come first.
struct AllReduceServer {
  AllReduceEnd end;
};
// One that joins it.
struct AllReduceTest {
  AllReduceEnd end;
  int first = 0;   // rank of the first of its GPUs
  std::string id;  // what the one that waits said, hexadecimal digits
};

// Of the whole: every GPU has the same.
struct AllReduce {
  double bus = 0;               // bits/s that each GPU sends, and gets: bus bandwidth as nccl-tests have it
  std::vector<double> samples;  // bits/s, in the order of time
};
// What came of it: `measured`, or why nothing was.
struct AllReduceReport {
  std::optional<AllReduce> measured;
  std::string reason;                       // one word of docs/gpu-probe.md: "busy", "no_library"
  std::string error;                        // the same as a sentence
  std::optional<int> wrong_rank = {};       // the first one whose sum was wrong, where that is the reason
  std::optional<int> wrong_last_rank = {};  // and the last one; nothing: not known
};

// Both use only GPUs of which it is known that nobody else does. The id is in the environment of one that
// joins, where no other user of the node sees it, and in no argument.
[[nodiscard]] host::Command command_of(const std::string& program, const AllReduceServer& server);
[[nodiscard]] host::Command command_of(const std::string& program, const AllReduceTest& test);

// The first line of a server: what others join with. unavailable: it cannot serve, and why.
// malformed: no such line. Pure, like the next one.
[[nodiscard]] Result<std::string> parse_nccl_id(std::string_view line);
// What a test wrote. malformed: no such report, or one without a reason and without a figure.
[[nodiscard]] Result<AllReduceReport> parse_all_reduce(std::string_view text);

}  // namespace autopilot::nettest
