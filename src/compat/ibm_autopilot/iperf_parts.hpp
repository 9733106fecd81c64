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

// The parts of the network test that agents request from each other: GET /iperfservers from one,
// /iperfclients from the other, and /iperfstopservers at the end. Pure.
namespace autopilot::compat::ibm_autopilot {

inline constexpr std::size_t kMostIperfProcesses = 16;
// Of one measurement, as in the original.
inline constexpr int kIperfSeconds = 5;

// The interfaces of a plane: "mgmt" is eth0, "data" all others.
enum class Plane : std::uint8_t { any, data, mgmt };
[[nodiscard]] bool is_of(Plane plane, std::string_view interface);

struct IperfServers {
  int count = 8;  // on each interface: 1 to kMostIperfProcesses
  int first_port = 5200;
  Plane plane = Plane::any;
};
// `numservers` (or `serverspernode`, its older name), `startport`, `plane`. malformed, with the text of the
// reply: a value is not a number in its range, or not a plane. The same applies to read_iperf_clients.
[[nodiscard]] Result<IperfServers> read_iperf_servers(const QueryParameters& query);

struct IperfClients {
  std::string to;          // an address
  std::vector<int> ports;  // one for each client
};
// `dstip`, `dstport` and `numclients` (or `clientsperiface`); all are required.
[[nodiscard]] Result<IperfClients> read_iperf_clients(const QueryParameters& query);

// Lines of a reply. pod: empty if the agents do not run in pods.
[[nodiscard]] std::string server_line(const std::string& address, int port, const std::string& interface,
                                      const std::string& pod, const std::string& node);
[[nodiscard]] std::string servers_removed_line();
[[nodiscard]] std::string iperf_error_line(std::string_view why);

// Rates of one client, sent and received.
struct IperfShare {
  double sent = 0;      // bits/s
  double received = 0;  // bits/s
};
// {"sender": S, "receiver": S}, S = {"aggregate", "mean", "min", "max"} of the clients, each {"transfer",
// "bitrate"}: GBytes of 2^30 in kIperfSeconds and Gbit/s of 10^9, as text with two decimals. clients: at
// least one.
[[nodiscard]] std::string clients_json(std::span<const IperfShare> clients);

}  // namespace autopilot::compat::ibm_autopilot
