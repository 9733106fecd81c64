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

// The program that measures bandwidth between two nodes, autopilot-net-probe: its command lines and its
// output (docs/net-probe.md).

// Longer reports are not read.
inline constexpr std::size_t kMaxNetProbeReport = std::size_t{256} << 10;
// Most client addresses that one server can accept.
inline constexpr std::size_t kMostHeard = 64;

// Server of a bandwidth test over TCP.
struct BandwidthServer {
  std::string address;               // of this node
  int processes = 1;                 // each with a port of its own
  int first_port = 0;                // the others follow it; 0: the kernel chooses them
  int seconds = 0;                   // then all end
  std::vector<std::string> allowed;  // addresses; all other clients are ignored. At most kMostHeard
};

// Test of one direction against the server of the other node.
struct BandwidthTest {
  std::string address;     // of this node
  std::string to;          // of the other one
  std::vector<int> ports;  // one for each process
  int streams = 1;         // of each process
  int seconds = 0;
  bool from_peer = false;                  // the other node sends
  std::optional<std::uint64_t> most = {};  // bits/s, of all processes together; nullopt: no limit
};

// The same by RDMA, with the programs of perftest. Of such a server the processes are one for each of them.
struct RdmaServer {
  std::string address;   // of this node, IPv4, at which it listens for its clients
  std::string port;      // "mlx5_0/1"
  int seconds = 0;       // then all end
  int test_seconds = 0;  // the same value as in the test of the other node
  std::string gpu = {};  // in whose memory its buffers are, by PCI address; empty: in that of the host
};
// Test of both directions: writes to the other endpoint, then reads from it.
struct RdmaTest {
  std::string address;                     // of this node, IPv4
  std::string port;                        // "mlx5_0/1"
  std::string to;                          // of the other one, IPv4
  std::vector<int> ports;                  // of its processes
  int seconds = 0;                         // in each direction
  std::optional<std::uint64_t> most = {};  // bits/s; nullopt: no limit
  std::string gpu = {};                    // see RdmaServer
};

// Test in which a port writes to itself.
struct RdmaLoopback {
  std::string port;  // "mlx5_0/1"
  int seconds = 0;
  std::string gpu = {};  // see RdmaServer
};

struct Carried {
  double sent = 0;      // bits/s, as the sender reports
  double received = 0;  // bits/s, as the receiver reports
};
struct Bandwidth {
  Carried all;                       // the sum over all processes
  std::vector<double> samples = {};  // bits/s that arrived, second by second
  std::vector<Carried> processes = {};
};
// Result of a test: `measured`, or the reason why it is missing.
struct BandwidthReport {
  std::optional<Bandwidth> measured;
  std::string reason;         // one word of docs/net-probe.md: "refused", "timed_out"
  std::string error;          // the same as a sentence
  bool came_through = false;  // some data arrived, although the measurement is not complete
};

// Of a message of two bytes to the other end; microseconds.
struct RdmaLatency {
  double typical = 0;  // the median
  double p99 = 0;
  double most = 0;
};
struct RdmaBandwidth {
  Bandwidth to_peer;
  Bandwidth from_peer;
  std::optional<RdmaLatency> latency;  // nullopt: it failed after both directions were measured
};
// Result of a test: `measured`, or the reason why a direction is missing.
struct RdmaReport {
  std::optional<RdmaBandwidth> measured;
  std::string reason;  // as of a BandwidthReport, like the next ones
  std::string error;
  bool came_through = false;
};

// Path of the program in the folder of this program. not_found: the file is missing.
[[nodiscard]] Result<std::string> net_probe_program();
[[nodiscard]] host::Command command_of(const std::string& program, const BandwidthServer& server);
[[nodiscard]] host::Command command_of(const std::string& program, const BandwidthTest& test);
[[nodiscard]] host::Command command_of(const std::string& program, const RdmaServer& server);
[[nodiscard]] host::Command command_of(const std::string& program, const RdmaTest& test);
[[nodiscard]] host::Command command_of(const std::string& program, const RdmaLoopback& test);

// Ports of the processes of a server, from the line that it writes when it listens. unavailable: a process
// does not listen; the error has the reason. malformed: not such a line. Pure, like the next function.
[[nodiscard]] Result<std::vector<int>> parse_listening(std::string_view line);
// Report of a test, for the requested direction. malformed: not such a report, or a report without a reason
// and without that direction.
[[nodiscard]] Result<BandwidthReport> parse_bandwidth(std::string_view text, bool from_peer);
// malformed: not such a report, or an incomplete report without a reason. Both directions count even if the
// latency, which comes last, is missing.
[[nodiscard]] Result<RdmaReport> parse_rdma(std::string_view text);

// The program that measures GPUs, autopilot-gpu-probe, as an endpoint of an all-reduce between nodes: its
// command lines and its output (docs/gpu-probe.md). gpu_probe_program() returns its path.

// Longer reports are not read.
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
// The endpoint that waits for the others. Its ranks come first.
struct AllReduceServer {
  AllReduceEnd end;
};
// An endpoint that joins it.
struct AllReduceTest {
  AllReduceEnd end;
  int first = 0;   // rank of the first of its GPUs
  std::string id;  // from the waiting endpoint, hexadecimal digits
};

// Of the whole: every GPU has the same.
struct AllReduce {
  double bus = 0;               // bits/s that each GPU sends, and gets: bus bandwidth as nccl-tests have it
  std::vector<double> samples;  // bits/s, in the order of time
};
// Result of an all-reduce: `measured`, or the reason why it is missing.
struct AllReduceReport {
  std::optional<AllReduce> measured;
  std::string reason;                       // one word of docs/gpu-probe.md: "busy", "no_library"
  std::string error;                        // the same as a sentence
  std::optional<int> wrong_rank = {};       // first rank with a wrong sum, if that is the reason
  std::optional<int> wrong_last_rank = {};  // last rank with a wrong sum; nullopt: not known
};

// Both use only GPUs that are known to be idle. A joining endpoint gets the id in its environment, where no
// other user of the node sees it, and not as an argument.
[[nodiscard]] host::Command command_of(const std::string& program, const AllReduceServer& server);
[[nodiscard]] host::Command command_of(const std::string& program, const AllReduceTest& test);

// The first line of a server: what others join with. unavailable: it cannot serve, and why.
// malformed: not such a line. Pure, like the next function.
[[nodiscard]] Result<std::string> parse_nccl_id(std::string_view line);
// Report of a test. malformed: not such a report, or a report without a reason and without a figure.
[[nodiscard]] Result<AllReduceReport> parse_all_reduce(std::string_view text);

}  // namespace autopilot::nettest
