// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "host/files/files.hpp"

namespace autopilot::host {

// A route out of the networks of this machine.
struct DefaultRoute {
  std::string interface;
  std::string gateway;  // "192.0.2.1"; empty where the route has none, and for IPv6
  bool is_ipv6 = false;
};

// What the kernel knows of a machine on the same network (IPv4).
struct Neighbour {
  std::string address;
  std::string interface;
  bool has_answered = false;  // its hardware address is known; otherwise it was asked for and did not answer
};

// The default routes of the main table that can be used. Empty: there is none. Nothing is sent.
[[nodiscard]] Result<std::vector<DefaultRoute>> read_default_routes(const Files& files);
[[nodiscard]] Result<std::vector<Neighbour>> read_neighbours(const Files& files);
// The resolvers of /etc/resolv.conf, in order; those on this machine ("127.0.0.53") too. Lines that begin
// with blanks are none, as for the C library.
[[nodiscard]] Result<std::vector<std::string>> read_resolvers(const Files& files);

// The texts of /proc/net/route, /proc/net/ipv6_route and /proc/net/arp. malformed: a line is not a row.
[[nodiscard]] Result<std::vector<DefaultRoute>> parse_default_routes(std::string_view route);
[[nodiscard]] Result<std::vector<DefaultRoute>> parse_default_routes_ipv6(std::string_view route);
[[nodiscard]] Result<std::vector<Neighbour>> parse_neighbours(std::string_view arp);

}  // namespace autopilot::host
