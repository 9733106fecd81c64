// SPDX-License-Identifier: Apache-2.0
#include "host/netlink/internet_address.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <netinet/in.h>

namespace autopilot::host {
namespace {

template <class SocketAddress>
InternetAddress make_address(const SocketAddress& address) {
  InternetAddress made;
  made.size = sizeof address;
  std::memcpy(&made.storage, &address, sizeof address);
  return made;
}

template <class SocketAddress>
SocketAddress read_as(const sockaddr& address) {
  SocketAddress read{};
  std::memcpy(&read, &address, sizeof read);
  return read;
}

}  // namespace

bool operator==(const InternetAddress& a, const InternetAddress& b) {
  return a.storage.ss_family == b.storage.ss_family && address_bytes(*a.get()) == address_bytes(*b.get());
}

std::optional<InternetAddress> parse_internet_address(const std::string& text, std::uint16_t port) {
  sockaddr_in ipv4{};
  if (::inet_pton(AF_INET, text.c_str(), &ipv4.sin_addr) == 1) {
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    return make_address(ipv4);
  }
  sockaddr_in6 ipv6{};
  if (::inet_pton(AF_INET6, text.c_str(), &ipv6.sin6_addr) != 1) return std::nullopt;
  if (IN6_IS_ADDR_LINKLOCAL(&ipv6.sin6_addr)) return std::nullopt;
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(port);
  return make_address(ipv6);
}

bool is_host_address(const std::string& text) {
  const auto address = parse_internet_address(text);
  if (!address) return false;
  if (address->is_ipv6()) {
    const auto ipv6 = read_as<sockaddr_in6>(*address->get()).sin6_addr;
    return !IN6_IS_ADDR_LOOPBACK(&ipv6) && !IN6_IS_ADDR_MULTICAST(&ipv6) && !IN6_IS_ADDR_UNSPECIFIED(&ipv6) &&
           !IN6_IS_ADDR_V4MAPPED(&ipv6);
  }
  const std::uint32_t ipv4 = ntohl(read_as<sockaddr_in>(*address->get()).sin_addr.s_addr);
  constexpr std::uint32_t kFirstGroup = 224;  // from there on: groups, or not assigned
  return ipv4 >> 24 != 0 && ipv4 >> 24 != IN_LOOPBACKNET && ipv4 >> 24 < kFirstGroup;
}

std::string address_bytes(const sockaddr& address) {
  if (address.sa_family == AF_INET6) {
    const auto ipv6 = read_as<sockaddr_in6>(address);
    return {reinterpret_cast<const char*>(&ipv6.sin6_addr), sizeof ipv6.sin6_addr};
  }
  const auto ipv4 = read_as<sockaddr_in>(address);
  return {reinterpret_cast<const char*>(&ipv4.sin_addr), sizeof ipv4.sin_addr};
}

std::optional<std::string> address_text(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    const auto ipv4 = read_as<sockaddr_in>(address);
    return ::inet_ntop(AF_INET, &ipv4.sin_addr, text.data(), text.size());
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  const auto ipv6 = read_as<sockaddr_in6>(address);
  return ::inet_ntop(AF_INET6, &ipv6.sin6_addr, text.data(), text.size());
}

}  // namespace autopilot::host
