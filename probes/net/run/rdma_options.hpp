// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "probes/net/machine/address.hpp"
#include "probes/net/perftest/arguments.hpp"

namespace autopilot::probes::net {

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

}  // namespace autopilot::probes::net
