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

// What a round of pings found, for the check network.ping (src/checks/network/ping.cpp lists the names).
// Pure.
namespace autopilot::nettest {

inline constexpr std::string_view kPingCheck = "network.ping";

// An address that is asked, and whose it is.
struct PingAddress {
  std::size_t peer = 0;   // of the networks
  std::string interface;  // of that node
  std::string address;
};

// All of all of them, in order.
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

// Of each node how many of its addresses were silent; of each interface of this one how its questions fared;
// of a way between two interfaces only where something is odd about it.
[[nodiscard]] Observations ping_observations(const PingRound& round);
// There is no other node, or nobody knows one.
[[nodiscard]] Observations no_ping_targets(const std::string& pod, Instant now);
// Those that were silent at an address, or odd at one: they are asked again.
[[nodiscard]] std::vector<std::string> nodes_to_ask_again(const PingRound& round);
// Of such observations: how many addresses were asked by way of each interface of this node, and how many of
// them gave no answer.
struct PingCount {
  double asked = 0;
  double unanswered = 0;
};
[[nodiscard]] std::map<std::string, PingCount> ping_counts(const Observations& observations);
// "16 nodes asked at 32 addresses: all answer"
[[nodiscard]] std::string ping_sentence(const PingRound& round);

}  // namespace autopilot::nettest
