// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/observation.hpp"
#include "nettest/echo/peer_echo.hpp"
#include "nettest/run/address_book.hpp"

// Observations of a round of pings, for the check network.ping (src/checks/network/ping.cpp lists the names).
// Pure.
namespace autopilot::nettest {

inline constexpr std::string_view kPingCheck = "network.ping";

// Address that is asked, with its node and interface.
struct PingAddress {
  std::size_t peer = 0;   // of the networks
  std::string interface;  // of that node
  std::string address;
};

// All addresses of all nodes, in order.
[[nodiscard]] std::vector<PingAddress> ping_addresses(const std::vector<PeerNetwork>& networks);

struct PingRound {
  std::string node;        // this one
  std::string pod;         // of this agent; empty: it is in none
  std::size_t others = 0;  // nodes that there are beside this one, asked or not
  std::vector<PeerNetwork> networks;
  std::vector<PingAddress> addresses;
  std::vector<PeerEcho> echoes;  // one for each address
  Instant ended;
};

// For each node, the number of its silent addresses; for each interface of this node, counts and latencies of
// its pings; for a path between two interfaces, its figures only if they are abnormal.
[[nodiscard]] Observations ping_observations(const PingRound& round);
// There is no other node, or no other node is known.
[[nodiscard]] Observations no_ping_targets(const std::string& pod, Instant now);
// Nodes that were silent or abnormal at an address: they are asked again.
[[nodiscard]] std::vector<std::string> nodes_to_ask_again(const PingRound& round);
// From such observations, for each interface of this node: the number of addresses asked over it, and of
// these the number without an answer.
struct PingCount {
  double asked = 0;
  double unanswered = 0;
};
[[nodiscard]] std::map<std::string, PingCount> ping_counts(const Observations& observations);
// "16 nodes asked at 32 addresses: all answer"
[[nodiscard]] std::string ping_sentence(const PingRound& round);

}  // namespace autopilot::nettest
