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
