// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "probes/net/machine/address.hpp"
#include "probes/net/perftest/arguments.hpp"

namespace autopilot::probes::net {

// In the order in which a measurement asks them.
inline constexpr std::array kTools{Tool::write_bandwidth, Tool::read_bandwidth, Tool::send_latency};

// A server of each of kTools.
struct RdmaServeOptions {
  Address bind;
  Device device;
  int seconds = 60;
  int test_seconds = 5;  // of a test of bandwidth, as both ends must know
  int queues = 1;
};

struct RdmaMeasureOptions {
  Address to;
  Address bind;
  Device device;
  std::array<int, kTools.size()> ports{};  // of the servers of kTools
  int seconds = 5;                         // of each test of bandwidth
  int queues = 1;
  std::optional<std::uint64_t> bits_per_second{};  // the most that a test may take
};

// Both ends are this machine.
struct RdmaLoopbackOptions {
  Device device;
  int seconds = 5;
  int queues = 1;
};

}  // namespace autopilot::probes::net
