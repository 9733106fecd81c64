// SPDX-License-Identifier: Apache-2.0
#include "host/ethernet/routes.hpp"

#include <cstdint>
#include <iterator>
#include <optional>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::string_view kRoutes = "/proc/net/route";
constexpr std::string_view kRoutesIpv6 = "/proc/net/ipv6_route";
constexpr std::string_view kNeighbours = "/proc/net/arp";
constexpr std::string_view kResolvers = "/etc/resolv.conf";

// Flags of a route (linux/route.h) and of a neighbour (linux/if_arp.h).
constexpr std::uint32_t kUsable = 0x1;
constexpr std::uint32_t kRefused = 0x200;
constexpr std::uint32_t kComplete = 0x2;

Error bad_row(std::string_view path, std::string_view line) {
  return {Errc::malformed, std::string(path) + ": cannot be understood: " + std::string(line.substr(0, 80))};
}

// The kernel prints an IPv4 address as the number that its bytes in memory are on this machine.
std::string address_of(std::uint32_t number) {
  std::string text;
  for (int byte = 0; byte < 4; ++byte)
    text += (byte == 0 ? "" : ".") + std::to_string(number >> (8 * byte) & 0xff);
  return text;
}

}  // namespace

Result<std::vector<DefaultRoute>> parse_default_routes(std::string_view route) {
  std::vector<DefaultRoute> routes;
  for (const std::string_view line : split(route, '\n')) {
    const auto words = split_words(line);
    if (words.empty() || words[0] == "Iface") continue;
    if (words.size() < 8) return fail(bad_row(kRoutes, line));
    const auto destination = parse_hex<std::uint32_t>(words[1]);
    const auto gateway = parse_hex<std::uint32_t>(words[2]);
    const auto flags = parse_hex<std::uint32_t>(words[3]);
    const auto mask = parse_hex<std::uint32_t>(words[7]);
    if (!destination || !gateway || !flags || !mask) return fail(bad_row(kRoutes, line));
    if (*destination != 0 || *mask != 0 || (*flags & kUsable) == 0 || (*flags & kRefused) != 0) continue;
    routes.push_back(
        {.interface = std::string(words[0]), .gateway = *gateway == 0 ? "" : address_of(*gateway)});
  }
  return routes;
}

Result<std::vector<DefaultRoute>> parse_default_routes_ipv6(std::string_view route) {
  std::vector<DefaultRoute> routes;
  for (const std::string_view line : split(route, '\n')) {
    const auto words = split_words(line);
    if (words.empty()) continue;
    if (words.size() < 10) return fail(bad_row(kRoutesIpv6, line));
    const auto flags = parse_hex<std::uint32_t>(words[8]);
    if (!flags) return fail(bad_row(kRoutesIpv6, line));
    const bool is_default = words[1] == "00" && words[0].find_first_not_of('0') == std::string_view::npos;
    if (!is_default || (*flags & kUsable) == 0 || (*flags & kRefused) != 0 || words[9] == "lo") continue;
    routes.push_back({.interface = std::string(words[9]), .gateway = "", .is_ipv6 = true});
  }
  return routes;
}

Result<std::vector<Neighbour>> parse_neighbours(std::string_view arp) {
  std::vector<Neighbour> neighbours;
  for (const std::string_view line : split(arp, '\n')) {
    const auto words = split_words(line);
    if (words.empty() || words[0] == "IP") continue;
    const auto flags = words.size() < 6 ? std::nullopt : parse_hex<std::uint32_t>(words[2]);
    if (!flags) return fail(bad_row(kNeighbours, line));
    neighbours.push_back({.address = std::string(words[0]),
                          .interface = std::string(words[5]),
                          .has_answered = (*flags & kComplete) != 0});
  }
  return neighbours;
}

Result<std::vector<DefaultRoute>> read_default_routes(const Files& files) {
  const std::string table = TRY(files.read(kRoutes));
  auto routes = TRY(parse_default_routes(table));
  const auto text = files.read(kRoutesIpv6);
  if (!text) {
    if (text.error().code == Errc::not_found) return routes;  // IPv6 is switched off
    return fail(text.error());
  }
  auto ipv6 = TRY(parse_default_routes_ipv6(*text));
  routes.insert(routes.end(), std::make_move_iterator(ipv6.begin()), std::make_move_iterator(ipv6.end()));
  return routes;
}

Result<std::vector<Neighbour>> read_neighbours(const Files& files) {
  const std::string text = TRY(files.read(kNeighbours));
  return parse_neighbours(text);
}

Result<std::vector<std::string>> read_resolvers(const Files& files) {
  const std::string text = TRY(files.read(kResolvers));
  std::vector<std::string> resolvers;
  for (const std::string_view line : split(text, '\n')) {
    // The C library takes a keyword for one only where the line begins with it.
    const auto words = split_words(line);
    if (words.size() >= 2 && words[0] == "nameserver" && line.starts_with(words[0]))
      resolvers.emplace_back(words[1]);
  }
  return resolvers;
}

}  // namespace autopilot::host
