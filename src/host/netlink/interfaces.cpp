// SPDX-License-Identifier: Apache-2.0
#include "host/netlink/interfaces.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netinet/in.h>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <utility>

#include "host/files/fd.hpp"
#include "host/netlink/route_mtu.hpp"

namespace autopilot::host {
namespace {

unsigned mtu_of(int socket, const std::string& interface) {
  ifreq request{};
  interface.copy(static_cast<char*>(request.ifr_name), IFNAMSIZ - 1);
  return ::ioctl(socket, SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0
             ? static_cast<unsigned>(request.ifr_mtu)
             : 0;
}

// An advertisement of a router, or an administrator, may have IPv6 send less there than the interface could.
unsigned mtu_for(unsigned interface_mtu, const std::string& interface, bool is_ipv6) {
  if (!is_ipv6) return interface_mtu;
  const auto told = host::Files().read_integer("/proc/sys/net/ipv6/conf/" + interface + "/mtu");
  return told && *told > 0 && *told < interface_mtu ? static_cast<unsigned>(*told) : interface_mtu;
}

unsigned ones_in(std::string_view bytes) {
  unsigned ones = 0;
  for (const char byte : bytes)
    ones += static_cast<unsigned>(std::popcount(static_cast<unsigned char>(byte)));
  return ones;
}

bool have_in_common(std::string_view a, std::string_view b, unsigned bits) {
  if (a.size() != b.size() || bits > 8 * a.size()) return false;
  const std::size_t whole = bits / 8;
  if (a.substr(0, whole) != b.substr(0, whole)) return false;
  if (bits % 8 == 0) return true;
  return (static_cast<unsigned char>(a[whole]) ^ static_cast<unsigned char>(b[whole])) >> (8 - bits % 8) == 0;
}

// What the kernel would give a packet to it.
struct KernelsChoice {
  std::string address;
  unsigned mtu = 0;  // also by what it heard from routers; 0: not known
};
std::optional<KernelsChoice> kernels_choice(const InternetAddress& to) {
  const host::Fd socket(::socket(to.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  // Nothing is sent: a datagram socket that is connected has chosen its route.
  if (!socket || ::connect(socket.get(), to.get(), to.size) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0)
    return std::nullopt;
  const auto text = address_text(reinterpret_cast<const sockaddr&>(own));
  if (!text) return std::nullopt;
  int mtu = 0;
  socklen_t length = sizeof mtu;
  const bool is_told = to.is_ipv6() ? ::getsockopt(socket.get(), IPPROTO_IPV6, IPV6_MTU, &mtu, &length) == 0
                                    : ::getsockopt(socket.get(), IPPROTO_IP, IP_MTU, &mtu, &length) == 0;
  return KernelsChoice{.address = *text, .mtu = is_told && mtu > 0 ? static_cast<unsigned>(mtu) : 0};
}

bool is_neighbour(const InternetAddress& to, const OwnAddress& own) {
  const auto address = parse_internet_address(own.address);
  return own.prefix > 0 && address &&
         have_in_common(address_bytes(*to.get()), address_bytes(*address->get()), own.prefix);
}

// A bridge of a bond of ports; deeper stacks do not occur.
constexpr int kDeepest = 4;

bool stands_on_device(const host::Files& files, const std::string& interface, int depth = 0) {
  const std::string folder = "/sys/class/net/" + interface;
  if (files.exists(folder + "/device")) return true;
  if (depth == kDeepest) return false;
  const auto names = files.list(folder);
  return names && std::ranges::any_of(*names, [&](const std::string& name) {
           constexpr std::string_view lower = "lower_";
           return name.starts_with(lower) && stands_on_device(files, name.substr(lower.size()), depth + 1);
         });
}

std::vector<OwnAddress> those_of(const std::vector<OwnAddress>& all,
                                 const std::function<bool(const std::string& interface)>& is_wanted) {
  std::vector<OwnAddress> found;
  for (const OwnAddress& own : all)
    if (is_wanted(own.interface)) found.push_back(own);
  return found;
}

}  // namespace

std::vector<OwnAddress> addresses_for_peers(const host::Files& files, std::vector<OwnAddress> all,
                                            const std::vector<std::string>& wanted) {
  if (!wanted.empty())
    return those_of(all, [&wanted](const std::string& interface) {
      return std::ranges::find(wanted, interface) != wanted.end();
    });
  auto on_devices =
      those_of(all, [&files](const std::string& interface) { return stands_on_device(files, interface); });
  return on_devices.empty() ? std::move(all) : std::move(on_devices);
}

Result<std::vector<OwnAddress>> read_own_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return fail_errno(errno, "the addresses of this machine");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(first, ::freeifaddrs);
  const host::Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  std::vector<OwnAddress> addresses;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || (entry->ifa_flags & IFF_LOOPBACK) != 0) continue;
    const auto text = address_text(*entry->ifa_addr);
    if (!text || !parse_internet_address(*text)) continue;
    addresses.push_back(
        {.interface = entry->ifa_name,
         .address = *text,
         .mtu = mtu_for(mtu_of(socket.get(), entry->ifa_name), entry->ifa_name,
                        entry->ifa_addr->sa_family == AF_INET6),
         .prefix = entry->ifa_netmask == nullptr ? 0 : ones_in(address_bytes(*entry->ifa_netmask))});
  }
  std::ranges::stable_sort(addresses, {}, &OwnAddress::interface);
  return addresses;
}

std::uint64_t line_rate(const host::Files& files, const std::string& interface) {
  constexpr std::uint64_t kMegabit = 1'000'000;
  constexpr std::int64_t kUnknown = 0xffffffff;  // of drivers that say it without a sign
  const auto megabits = files.read_integer("/sys/class/net/" + interface + "/speed");
  return megabits && *megabits > 0 && *megabits < kUnknown ? static_cast<std::uint64_t>(*megabits) * kMegabit
                                                           : 0;
}

const OwnAddress* own_neighbour_of(const InternetAddress& to, const std::vector<OwnAddress>& own) {
  const auto found =
      std::ranges::find_if(own, [&to](const OwnAddress& one) { return is_neighbour(to, one); });
  return found == own.end() ? nullptr : &*found;
}

OwnWay own_way_towards(const InternetAddress& to, const std::vector<OwnAddress>& own) {
  const auto choice = kernels_choice(to);
  const OwnAddress* found = nullptr;
  if (!choice) {
    found = own_neighbour_of(to, own);
  } else {
    const auto same = std::ranges::find(own, choice->address, &OwnAddress::address);
    if (same != own.end()) found = &*same;
  }
  if (found == nullptr) return {};
  const bool is_narrower = choice && choice->mtu > 0 && choice->mtu < found->mtu;
  // The route sets it, or a router did: only the former counts.
  const unsigned by_route = is_narrower ? route_mtu(to) : 0;
  return {.own = found, .mtu = by_route > 0 ? std::min(by_route, found->mtu) : found->mtu};
}

}  // namespace autopilot::host
