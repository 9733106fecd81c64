// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/callers/guard.hpp"
#include "agent/network_tests/address_book.hpp"
#include "agent/network_tests/bandwidth_ends.hpp"
#include "agent/network_tests/own_network.hpp"
#include "net/http_server.hpp"

namespace autopilot::agent {

// What the routes stand on. Everything is used on the loop's thread and outlives the server.
struct BandwidthContext {
  BandwidthEnds& ends;
  BandwidthEnds& standing;  // servers that wait for a test of somebody else: they make room
  OwnNetwork& own;
  AddressBook& book;
  // All agents there are, this one among them.
  std::function<void(std::function<void(const Result<std::vector<Peer>>& peers)> done)> peers;
  CallerRights rights;
  bool is_open = false;  // whoever reaches the port may have tests made
  // Whose job is on this node, in a sentence; empty: nobody's that is known.
  std::function<std::string()> job;
};

// /v1/network/servers and /v1/network/bandwidth, by which agents make tests between two nodes. They are for
// agents that prove by their certificate that they are one, for the Unix socket, and where it is open for
// everybody; an address that is none of this node, or a destination that no agent names as its own, is
// refused. Beside a job no test begins.
void add_bandwidth_routes(net::HttpServer& server, const BandwidthContext& context);

}  // namespace autopilot::agent
