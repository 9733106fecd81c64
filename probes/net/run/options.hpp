// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "probes/net/iperf/program.hpp"
#include "probes/net/machine/interfaces.hpp"
#include "probes/net/machine/listeners.hpp"
#include "probes/net/perftest/perftest.hpp"

namespace autopilot::probes::net {

// Documented in docs/net-probe.md.
enum ExitCode : int {
  exit_done = 0,          // everything was measured, or served until the end
  exit_not_measured = 3,  // a measuring process or a server did not finish
  exit_usage = 64,
  exit_internal = 70,
  exit_signal = 128,  // plus the number of the signal
};

// In the order of the tests.
inline constexpr std::array kTools{Tool::write_bandwidth, Tool::read_bandwidth, Tool::send_latency};

// A server for each of kTools.
struct RdmaServeOptions {
  Address bind;
  Device device;
  int seconds = 60;
  int test_seconds = 5;  // of a bandwidth test; both sides must have the same value
  int queues = 1;
};

struct RdmaMeasureOptions {
  Address to;
  Address bind;
  Device device;
  std::array<int, kTools.size()> ports{};  // of the servers of kTools
  int seconds = 5;                         // of each bandwidth test
  int queues = 1;
  std::optional<std::uint64_t> bits_per_second{};  // limit of a test
};

// Both sides are on this machine.
struct RdmaLoopbackOptions {
  Device device;
  int seconds = 5;
  int queues = 1;
};

// Placement of the processes: one processor for each in turn, all near the interface, or anywhere.
struct Pinning {
  std::vector<int> processors;
  bool is_near_interface = false;
};

inline constexpr int kMostSeconds = 3600;  // of a test
inline constexpr int kMostServeSeconds = 86400;

struct ServeOptions {
  Address bind;
  PortRange ports;
  int count = 1;
  int seconds = 60;
  bool is_once = false;
  std::vector<Address> allowed;  // empty: all
  Pinning pinning;
};

struct MeasureOptions {
  Address to;
  std::vector<int> ports;  // one for each process, or only the first of them
  std::optional<Address> bind;
  std::optional<std::string> interface;
  int streams = 1;  // of each process
  int processes = 1;
  int seconds = 5;
  int omit_seconds = 0;
  Flow flow = Flow::to_peer;
  std::optional<std::uint64_t> bits_per_second;  // limit for all processes together in each direction
  int samples = 1;                               // in the whole time
  Pinning pinning;
};

using Options =
    std::variant<ServeOptions, MeasureOptions, RdmaServeOptions, RdmaMeasureOptions, RdmaLoopbackOptions>;

// The options, or the exit code of a program that has printed why it ends.
[[nodiscard]] std::variant<Options, int> parse_options(int argc, const char* const* argv);

// "9900000000", "9900M" or "9.9G", in bits per second: a prefix is a power of 1000. nullopt: other text, or a
// fraction of a bit.
[[nodiscard]] std::optional<std::uint64_t> parse_bit_rate(std::string_view text);

}  // namespace autopilot::probes::net
