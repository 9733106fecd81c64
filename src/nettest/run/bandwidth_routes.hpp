// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kube/callers/guard.hpp"
#include "net/http_server.hpp"
#include "nettest/run/tester_doors.hpp"

namespace autopilot::nettest {

struct BandwidthContext {
  BandwidthDoors doors;
  kube::CallerRights rights;
  bool is_open = false;  // any user who can reach the port can start tests
};

// /v1/network/servers and /v1/network/bandwidth, by which agents make tests between two nodes. They are for
// agents that prove by their certificate that they are one, for the Unix socket, and where it is open for
// everybody, without GPUs and their memory; an address that is none of this node, or a destination that no
// agent names as its own, is refused. By NCCL the address that is used is in the id of the other end, which
// is believed. Beside a job no test begins, nor out of the memory of a GPU that is not known to be idle.
void add_bandwidth_routes(net::HttpServer& server, const BandwidthContext& context);

}  // namespace autopilot::nettest
