// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/interfaces.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <sched.h>
#include <span>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "core/parse.hpp"

namespace autopilot::probes::net {

bool Address::is_link_local() const {
  return is_ipv6 ? bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80 : bytes[0] == 169 && bytes[1] == 254;
}

bool is_same_address(const Address& a, const Address& b) {
  return a.is_ipv6 == b.is_ipv6 && a.bytes == b.bytes;
}

Result<Address> parse_address(std::string_view text) {
  const std::size_t percent = text.find('%');
  const std::string host(text.substr(0, percent));
  Address address;
  address.is_ipv6 = host.find(':') != std::string::npos;
  if (percent != std::string_view::npos) address.zone = text.substr(percent + 1);
  const bool has_zone = percent != std::string_view::npos;
  const bool is_zone = !address.zone.empty() && address.zone.size() < IF_NAMESIZE &&
                       is_printable(address.zone) && address.zone.find_first_of(" /%") == std::string::npos;
  const int family = address.is_ipv6 ? AF_INET6 : AF_INET;
  std::array<char, INET6_ADDRSTRLEN> written{};
  if (!is_printable(host) || ::inet_pton(family, host.c_str(), address.bytes.data()) != 1 ||
      ::inet_ntop(family, address.bytes.data(), written.data(), written.size()) == nullptr ||
      (has_zone && !(is_zone && address.is_ipv6 && address.is_link_local())))
    return fail(Errc::malformed,
                "'" + to_printable(text, 80) + "' is not an address such as 10.0.0.1 or fe80::1%eth0");
  address.text = written.data();
  if (has_zone) address.text += "%" + address.zone;
  return address;
}

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

namespace {

constexpr std::size_t kBitsOfByte = 8;

// A request to the kernel in memory layout.
class Question {
 public:
  explicit Question(bool is_ipv6) : size_(is_ipv6 ? 16 : 4) {
    head_.nlmsg_type = RTM_GETROUTE;
    head_.nlmsg_flags = NLM_F_REQUEST;
    route_.rtm_family = is_ipv6 ? AF_INET6 : AF_INET;
    route_.rtm_dst_len = route_.rtm_src_len = static_cast<unsigned char>(size_ * kBitsOfByte);
  }

  void add(unsigned short type, const Address& address) { add(type, address.bytes.data(), size_); }
  void add_interface(unsigned number) { add(RTA_OIF, &number, sizeof number); }

  [[nodiscard]] std::span<const char> bytes() {
    head_.nlmsg_len = static_cast<std::uint32_t>(used_);
    std::memcpy(bytes_.data(), &head_, sizeof head_);
    std::memcpy(bytes_.data() + NLMSG_LENGTH(0), &route_, sizeof route_);
    return {bytes_.data(), used_};
  }

 private:
  void add(unsigned short type, const void* value, std::size_t size) {
    const rtattr attribute{.rta_len = static_cast<unsigned short>(RTA_LENGTH(size)), .rta_type = type};
    std::memcpy(bytes_.data() + used_, &attribute, sizeof attribute);
    std::memcpy(bytes_.data() + used_ + RTA_LENGTH(0), value, size);
    used_ += RTA_ALIGN(attribute.rta_len);
  }

  std::size_t size_;  // of an address
  nlmsghdr head_{};
  rtmsg route_{};
  std::array<char, 256> bytes_{};
  std::size_t used_ = NLMSG_LENGTH(sizeof(rtmsg));
};

// The interface in a complete response.
Result<std::string> interface_in(std::span<const char> bytes, const std::string& what) {
  nlmsghdr head{};
  if (bytes.size() < sizeof head) return fail(Errc::malformed, what + ": the kernel's response is truncated");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.nlmsg_type == NLMSG_ERROR && bytes.size() >= NLMSG_LENGTH(sizeof(nlmsgerr))) {
    nlmsgerr error{};
    std::memcpy(&error, bytes.data() + NLMSG_LENGTH(0), sizeof error);
    return fail_errno(-error.error, what);
  }
  std::size_t at = NLMSG_LENGTH(sizeof(rtmsg));
  while (at + sizeof(rtattr) <= bytes.size()) {
    rtattr attribute{};
    std::memcpy(&attribute, bytes.data() + at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || at + attribute.rta_len > bytes.size()) break;
    if (attribute.rta_type == RTA_OIF && attribute.rta_len >= RTA_LENGTH(sizeof(unsigned))) {
      unsigned number = 0;
      std::memcpy(&number, bytes.data() + at + RTA_LENGTH(0), sizeof number);
      std::array<char, IF_NAMESIZE> name{};
      if (::if_indextoname(number, name.data()) == nullptr) return fail_errno(errno, what);
      return std::string(name.data());
    }
    at += RTA_ALIGN(attribute.rta_len);
  }
  return fail(Errc::malformed, what + ": the kernel names no interface");
}

}  // namespace

Result<std::string> interface_towards(const Address& from, const Address& to) {
  const std::string what = "the route from " + from.text + " to " + to.text;
  Question question(to.is_ipv6);
  question.add(RTA_DST, to);
  question.add(RTA_SRC, from);
  if (!to.zone.empty()) question.add_interface(::if_nametoindex(to.zone.c_str()));
  const int socket = ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (socket < 0) return fail_errno(errno, what);
  const std::span<const char> request = question.bytes();
  std::array<char, 4096> answer{};
  ssize_t size = ::send(socket, request.data(), request.size(), 0);
  if (size >= 0) size = ::recv(socket, answer.data(), answer.size(), 0);
  const int error = errno;
  ::close(socket);
  if (size < 0) return fail_errno(error, what);
  return interface_in({answer.data(), static_cast<std::size_t>(size)}, what);
}

namespace {

namespace fs = std::filesystem;

// Such as a VLAN on a bond of adapters.
constexpr int kMostStories = 3;

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::vector<std::string> below(const std::string& folder) {
  constexpr std::string_view kLower = "lower_";
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (name.starts_with(kLower)) names.push_back(name.substr(kLower.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<Locality> locality_of(const std::string& interface, const std::string& sysfs, int stories) {
  const std::string folder = sysfs + "/class/net/" + interface;
  const auto node_text = first_line(folder + "/device/numa_node");
  const auto list_text = first_line(folder + "/device/local_cpulist");
  if (node_text && list_text) {
    const auto node = parse_number<int>(*node_text);
    auto processors = parse_id_list(*list_text);
    if (!node || *node < 0 || !processors || processors->empty()) return std::nullopt;
    return Locality{*node, std::move(*processors)};
  }
  if (stories > 0)
    for (const std::string& name : below(folder))
      if (auto found = locality_of(name, sysfs, stories - 1)) return found;
  return std::nullopt;
}

}  // namespace

std::optional<Locality> read_locality(const std::string& interface, const std::string& sysfs) {
  if (interface.empty() || interface.find('/') != std::string::npos || interface.starts_with("."))
    return std::nullopt;
  return locality_of(interface, sysfs, kMostStories);
}

std::vector<int> read_allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(static_cast<std::size_t>(processor), &set)) processors.push_back(processor);
  return processors;
}

Status run_only_on(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors)
    if (processor >= 0 && processor < CPU_SETSIZE) CPU_SET(static_cast<std::size_t>(processor), &set);
  if (::sched_setaffinity(0, sizeof set, &set) == 0) return {};
  if (errno == EINVAL)
    return fail(Errc::denied, "this process is not allowed to run on any of the processors");
  return fail_errno(errno, "sched_setaffinity");
}

}  // namespace autopilot::probes::net
