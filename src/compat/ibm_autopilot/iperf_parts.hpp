// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compat/ibm_autopilot/status_request.hpp"
#include "core/result.hpp"

// The parts of its network test that the agents ask each other for: GET /iperfservers on the one,
// /iperfclients on the other, /iperfstopservers at the end. Pure.
namespace autopilot::compat::ibm_autopilot {

inline constexpr std::size_t kMostIperfProcesses = 16;
// Of one measurement, as in the original.
inline constexpr int kIperfSeconds = 5;

// Which interfaces stand for a plane: "mgmt" is eth0, "data" every other one.
enum class Plane : std::uint8_t { any, data, mgmt };
[[nodiscard]] bool is_of(Plane plane, std::string_view interface);

struct IperfServers {
  int count = 8;  // on each interface: 1 to kMostIperfProcesses
  int first_port = 5200;
  Plane plane = Plane::any;
};
// `numservers` (or `serverspernode`, its older name), `startport`, `plane`. malformed, with the text to
// answer with: one of them is no number in its range, or no plane. So is the other.
[[nodiscard]] Result<IperfServers> read_iperf_servers(const QueryParameters& query);

struct IperfClients {
  std::string to;          // an address
  std::vector<int> ports;  // one for each client
};
// `dstip`, `dstport` and `numclients` (or `clientsperiface`), all of which must be there.
[[nodiscard]] Result<IperfClients> read_iperf_clients(const QueryParameters& query);

// Lines of an answer. pod: empty, the agents are in none.
[[nodiscard]] std::string server_line(const std::string& address, int port, const std::string& interface,
                                      const std::string& pod, const std::string& node);
[[nodiscard]] std::string servers_removed_line();
[[nodiscard]] std::string iperf_error_line(std::string_view why);

// What one client sent, and what arrived of it.
struct IperfShare {
  double sent = 0;      // bits/s
  double received = 0;  // bits/s
};
// {"sender": S, "receiver": S}, S = {"aggregate", "mean", "min", "max"} of the clients, each {"transfer",
// "bitrate"}: GBytes of 2^30 in kIperfSeconds and Gbit/s of 10^9, as text with two digits after the point.
// clients: one at least.
[[nodiscard]] std::string clients_json(std::span<const IperfShare> clients);

}  // namespace autopilot::compat::ibm_autopilot
