// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/interfaces.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace autopilot::probes::net {
namespace {

std::optional<Address> address_in(const sockaddr* place) {
  if (place == nullptr || (place->sa_family != AF_INET && place->sa_family != AF_INET6)) return std::nullopt;
  const socklen_t size = place->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, NI_MAXHOST> text{};
  if (::getnameinfo(place, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return std::nullopt;
  auto address = parse_address(text.data());
  if (!address) return std::nullopt;
  return std::move(*address);
}

// Prefix length of a mask; 0: no mask.
int bits_of(const sockaddr* mask) {
  if (mask == nullptr || (mask->sa_family != AF_INET && mask->sa_family != AF_INET6)) return 0;
  std::array<std::uint8_t, 16> bytes{};
  if (mask->sa_family == AF_INET)
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in*>(mask)->sin_addr, 4);
  else
    std::memcpy(bytes.data(), &reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr, 16);
  int bits = 0;
  for (const std::uint8_t byte : bytes)
    bits += std::popcount(byte);
  return bits;
}

sockaddr_storage place_of(const Address& address, socklen_t& size) {
  // Any port except 0: only a route lookup follows.
  constexpr std::uint16_t kDiscard = 9;
  sockaddr_storage storage{};
  if (address.is_ipv6) {
    sockaddr_in6 place{};
    place.sin6_family = AF_INET6;
    place.sin6_port = htons(kDiscard);
    place.sin6_scope_id = address.zone.empty() ? 0 : ::if_nametoindex(address.zone.c_str());
    std::memcpy(&place.sin6_addr, address.bytes.data(), sizeof place.sin6_addr);
    size = sizeof place;
    std::memcpy(&storage, &place, sizeof place);
  } else {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(kDiscard);
    std::memcpy(&place.sin_addr, address.bytes.data(), sizeof place.sin_addr);
    size = sizeof place;
    std::memcpy(&storage, &place, sizeof place);
  }
  return storage;
}

}  // namespace

Result<std::vector<InterfaceAddress>> read_interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return fail_errno(errno, "cannot read the addresses of the interfaces");
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owned(list, &::freeifaddrs);
  std::vector<InterfaceAddress> known;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next)
    if (auto address = address_in(one->ifa_addr))
      known.push_back({one->ifa_name, std::move(*address), bits_of(one->ifa_netmask)});
  return known;
}

Result<Address> read_source_towards(const Address& target) {
  const int family = target.is_ipv6 ? AF_INET6 : AF_INET;
  const int socket = ::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return fail_errno(errno, "cannot open a socket");
  socklen_t size = 0;
  sockaddr_storage place = place_of(target, size);
  sockaddr_storage own{};
  socklen_t own_size = sizeof own;
  const bool found = ::connect(socket, reinterpret_cast<const sockaddr*>(&place), size) == 0 &&
                     ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_size) == 0;
  const int error = errno;
  ::close(socket);
  if (!found) return fail_errno(error, "the route to " + target.text);
  auto address = address_in(reinterpret_cast<const sockaddr*>(&own));
  if (!address) return fail(Errc::malformed, "the route to " + target.text + " has no source address");
  return std::move(*address);
}

std::optional<std::string> interface_of(std::span<const InterfaceAddress> known, const Address& address) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const InterfaceAddress& one) {
    return is_same_address(one.address, address) && (address.zone.empty() || address.zone == one.interface);
  });
  if (found == known.end()) return std::nullopt;
  return found->interface;
}

bool is_neighbour(const InterfaceAddress& own, const Address& other) {
  if (own.prefix == 0 || own.address.is_ipv6 != other.is_ipv6) return false;
  for (int bit = 0; bit < own.prefix; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    const int mask = 0x80 >> (bit % 8);
    if (((own.address.bytes[byte] ^ other.bytes[byte]) & mask) != 0) return false;
  }
  return true;
}

std::optional<Address> address_on(std::span<const InterfaceAddress> known, const std::string& interface,
                                  const Address& target) {
  const auto found = std::find_if(known.begin(), known.end(), [&](const InterfaceAddress& one) {
    return one.interface == interface && one.address.is_ipv6 == target.is_ipv6 &&
           one.address.is_link_local() == target.is_link_local();
  });
  if (found == known.end()) return std::nullopt;
  return found->address;
}

}  // namespace autopilot::probes::net
