// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "probes/net/iperf/arguments.hpp"
#include "probes/net/machine/address.hpp"
#include "probes/net/run/ports.hpp"
#include "probes/net/run/rdma_options.hpp"

namespace autopilot::probes::net {

// Where the processes run: one processor for each, in turn, or all that are near the interface, or wherever.
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
  std::vector<Address> allowed;  // everybody where it is empty
  Pinning pinning;
};

struct MeasureOptions {
  Address to;
  std::vector<int> ports;  // one for each process, or the first of them
  std::optional<Address> bind;
  std::optional<std::string> interface;
  int streams = 1;  // of each process
  int processes = 1;
  int seconds = 5;
  int omit_seconds = 0;
  Flow flow = Flow::to_peer;
  std::optional<std::uint64_t> bits_per_second;  // the most that all may take together, each way
  int samples = 1;                               // of the whole time
  Pinning pinning;
};

using Options =
    std::variant<ServeOptions, MeasureOptions, RdmaServeOptions, RdmaMeasureOptions, RdmaLoopbackOptions>;

// The options, or the exit code of a program that has told on standard output or error why it ends.
[[nodiscard]] std::variant<Options, int> parse_options(int argc, const char* const* argv);

// "9900000000", "9900M" or "9.9G", in bits per second: a prefix is a power of 1000. Nothing: anything else,
// or no whole number of bits.
[[nodiscard]] std::optional<std::uint64_t> parse_bit_rate(std::string_view text);

}  // namespace autopilot::probes::net
