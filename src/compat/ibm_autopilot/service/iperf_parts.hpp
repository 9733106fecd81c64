// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compat/ibm_autopilot/iperf_parts.hpp"
#include "kube/callers/guard.hpp"
#include "net/http.hpp"
#include "nettest/run/tester_doors.hpp"

namespace autopilot::compat::ibm_autopilot {

// The paths at which IBM Autopilot's test of the network has each pod do its part (/iperfservers,
// /iperfclients, /iperfstopservers), for drivers that send these requests themselves. A caller needs the
// permission to test network.bandwidth; servers accept only nodes of other agents, and clients connect only
// there. Answers are text with status 200, whatever comes of it. On the loop's thread.
class IperfParts {
 public:
  // Lifetime of servers that no caller stops.
  static constexpr std::chrono::seconds kStanding = std::chrono::minutes{10};

  // is_open: each caller has the permission.
  IperfParts(nettest::BandwidthDoors doors, kube::CallerRights rights, bool is_open);

  void serve(const net::HttpRequest& request, net::Responder responder);
  void stop_serving(const net::HttpRequest& request, net::Responder responder);
  void measure(const net::HttpRequest& request, net::Responder responder);

 private:
  using Shared = std::shared_ptr<net::Responder>;
  using Addresses = std::vector<api::NetworkAddress>;
  using Networks = std::vector<nettest::PeerNetwork>;
  struct Serving;

  void with_right(const net::HttpRequest& request, const Shared& to, std::function<void()> then);
  void with_networks(const Shared& to,
                     std::function<void(const Addresses& own, const Networks& others)> then);
  void begin_servers(const compat::ibm_autopilot::IperfServers& wanted, const Addresses& own,
                     const Networks& others, const Shared& to);
  void begin(const std::shared_ptr<Serving>& serving, const compat::ibm_autopilot::IperfServers& wanted,
             const api::NetworkAddress& own, const Networks& others);
  void begin_clients(const compat::ibm_autopilot::IperfClients& wanted, const Addresses& own,
                     const Networks& others, const Shared& to);

  const nettest::BandwidthDoors doors_;
  const kube::CallerRights rights_;
  const bool is_open_;
  std::uint64_t calls_ = 0;  // for servers, or for none: those of an earlier one make room
};

}  // namespace autopilot::compat::ibm_autopilot
