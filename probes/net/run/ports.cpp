// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/ports.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/parse.hpp"

namespace autopilot::probes::net {
namespace {

constexpr std::size_t kMostPorts = 64;
// Limit of retries for ports that another program takes first.
constexpr int kMostTries = 64;

std::optional<int> parse_port(std::string_view text, int lowest) {
  const auto port = parse_number<int>(text);
  if (!port || *port < lowest || *port > kMostPort) return std::nullopt;
  return port;
}

int port_of(int socket) {
  sockaddr_storage place{};
  socklen_t size = sizeof place;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&place), &size) != 0) return 0;
  in_port_t port = 0;
  const std::size_t offset =
      place.ss_family == AF_INET6 ? offsetof(sockaddr_in6, sin6_port) : offsetof(sockaddr_in, sin_port);
  std::memcpy(&port, reinterpret_cast<const char*>(&place) + offset, sizeof port);
  return ntohs(port);
}

int bind_somewhere(int socket, const Address& address) {
  if (address.is_ipv6) {
    sockaddr_in6 place{};
    place.sin6_family = AF_INET6;
    place.sin6_scope_id = address.zone.empty() ? 0 : ::if_nametoindex(address.zone.c_str());
    std::memcpy(&place.sin6_addr, address.bytes.data(), sizeof place.sin6_addr);
    return ::bind(socket, reinterpret_cast<const sockaddr*>(&place), sizeof place);
  }
  sockaddr_in place{};
  place.sin_family = AF_INET;
  std::memcpy(&place.sin_addr, address.bytes.data(), sizeof place.sin_addr);
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&place), sizeof place);
}

Result<int> free_port(const Address& address) {
  const int socket = ::socket(address.is_ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return fail_errno(errno, "cannot open a socket");
  const bool is_bound = bind_somewhere(socket, address) == 0;
  const int error = errno;
  const int port = is_bound ? port_of(socket) : 0;
  ::close(socket);
  if (!is_bound) return fail_errno(error, address.text);
  if (port == 0) return fail(Errc::internal, address.text + ": bound to no port");
  return port;
}

}  // namespace

std::optional<PortRange> parse_port_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    const auto port = parse_port(text, 0);
    if (!port) return std::nullopt;
    return PortRange{.first = *port, .last = {}};
  }
  const auto first = parse_port(text.substr(0, dash), 1);
  const auto last = parse_port(text.substr(dash + 1), 1);
  if (!first || !last || *last < *first) return std::nullopt;
  return PortRange{.first = *first, .last = *last};
}

std::optional<std::vector<int>> parse_ports(std::string_view text) {
  std::vector<int> ports;
  for (const std::string_view part : split(text, ',')) {
    const auto port = parse_port(part, 1);
    if (!port || ports.size() == kMostPorts || std::find(ports.begin(), ports.end(), *port) != ports.end())
      return std::nullopt;
    ports.push_back(*port);
  }
  return ports;
}

Ports::Ports(const PortRange& range, int count)
    : is_any_(range.is_any()),
      next_(range.is_any() ? 0 : range.first),
      last_(range.is_any() ? kMostTries : range.last.value_or(std::min(range.first + count - 1, kMostPort))) {
}

Result<int> Ports::next(const Address& bind) {
  if (next_ > last_) return fail(Errc::exhausted, "no free port is left");
  if (!is_any_) return next_++;
  ++next_;
  return free_port(bind);
}

}  // namespace autopilot::probes::net
