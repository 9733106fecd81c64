// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probes/net/machine/address.hpp"

namespace autopilot::probes::net {

// Which way data flows in a test, seen from whoever asks for it.
enum class Flow : std::uint8_t { to_peer, from_peer, both };

// One test by one client process.
struct ClientTest {
  std::string to;
  int port = 0;
  std::optional<std::string> source;     // its own address
  std::optional<std::string> interface;  // and no other way
  int streams = 1;
  int seconds = 1;
  int omit_seconds = 0;  // at the beginning, not counted
  double sample_seconds = 1;
  Flow flow = Flow::to_peer;
  std::optional<std::uint64_t> stream_bits_per_second;  // the most that one stream may take
  bool wants_peer_report = true;  // its version; it has a line for each stream and second
  int connect_seconds = 5;
  int silence_seconds = 10;  // without anything acknowledged or received: over
};

// One server process: one test at a time, one after the other.
struct ServerTest {
  std::string address;
  int port = 0;
  std::vector<Address> allowed;  // everybody where it is empty
  bool is_once = false;          // one test, and no other
  int silence_seconds = 10;
};

// The same as arguments of the program iperf3, the first of them its name.
[[nodiscard]] std::vector<std::string> client_arguments(const ClientTest& test);
[[nodiscard]] std::vector<std::string> server_arguments(const ServerTest& test);

}  // namespace autopilot::probes::net
