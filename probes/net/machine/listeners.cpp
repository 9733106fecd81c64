// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/listeners.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

#include "core/parse.hpp"

namespace autopilot::probes::net {
namespace {

// The kernel lists listening sockets first, and there can be a million of other sockets.
constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
constexpr std::string_view kListening = "0A";

// "0100007F:1F90", the address in host byte order.
std::optional<Listener> place_in(std::string_view text) {
  constexpr std::size_t kAddressDigits = 8;
  constexpr std::size_t kPortDigits = 4;
  if (text.size() != kAddressDigits + 1 + kPortDigits || text[kAddressDigits] != ':') return std::nullopt;
  const auto address = parse_number<std::uint32_t>(text.substr(0, kAddressDigits), 16);
  const auto port = parse_number<std::uint16_t>(text.substr(kAddressDigits + 1), 16);
  if (!address || !port) return std::nullopt;
  Listener listener;
  std::memcpy(listener.address.data(), &*address, listener.address.size());
  listener.port = *port;
  return listener;
}

}  // namespace

std::vector<Listener> listeners_in(std::string_view table) {
  std::vector<Listener> listeners;
  for (const std::string_view line : split(table, '\n')) {
    const auto words = split_words(line);
    if (words.size() < 4 || words[3] != kListening) continue;
    if (const auto listener = place_in(words[1])) listeners.push_back(*listener);
  }
  return listeners;
}

Result<std::vector<Listener>> read_listeners(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(Errc::unavailable, path + ": cannot be read");
  std::string text(kMostBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return listeners_in(text);
}

bool is_listened_at(std::span<const Listener> listeners, const Address& address, int port) {
  return std::any_of(listeners.begin(), listeners.end(), [&](const Listener& one) {
    return !address.is_ipv6 && one.port == port &&
           std::equal(one.address.begin(), one.address.end(), address.bytes.begin());
  });
}

namespace {

// Offsets of the source address within the IP header.
constexpr std::uint32_t kSourceOfIpv4 = 12;
constexpr std::uint32_t kSourceOfIpv6 = 8;
constexpr std::uint32_t kWholePacket = 0xffffffff;

constexpr std::uint16_t kLoadWord = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t kIsEqual = BPF_JMP | BPF_JEQ | BPF_K;
constexpr std::uint16_t kReturn = BPF_RET | BPF_K;

std::uint32_t word_at(const Address& address, std::size_t index) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i)
    word = word << 8U | address.bytes[4 * index + i];
  return word;
}

// For each peer, compares its words one by one; the first difference jumps to the next peer.
std::vector<sock_filter> program_for(std::span<const Address> peers, bool is_ipv6) {
  const std::size_t words = is_ipv6 ? 4 : 1;
  const std::uint32_t source = is_ipv6 ? kSourceOfIpv6 : kSourceOfIpv4;
  std::vector<sock_filter> program;
  for (const Address& peer : peers) {
    if (peer.is_ipv6 != is_ipv6) continue;
    for (std::size_t i = 0; i < words; ++i) {
      const auto place = static_cast<std::uint32_t>(SKF_NET_OFF) + source + static_cast<std::uint32_t>(4 * i);
      const auto to_next_peer = static_cast<std::uint8_t>(2 * (words - i) - 1);
      program.push_back({kLoadWord, 0, 0, place});
      program.push_back({kIsEqual, 0, to_next_peer, word_at(peer, i)});
    }
    program.push_back({kReturn, 0, 0, kWholePacket});
  }
  program.push_back({kReturn, 0, 0, 0});
  return program;
}

}  // namespace

Status accept_only_from(int socket, std::span<const Address> peers) {
  if (peers.size() > kMostPeers)
    return fail(Errc::exhausted, "more than " + std::to_string(kMostPeers) + " allowed addresses");
  int family = 0;
  socklen_t size = sizeof family;
  if (::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) return fail_errno(errno, "SO_DOMAIN");
  std::vector<sock_filter> program = program_for(peers, family == AF_INET6);
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  if (::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0)
    return fail_errno(errno, "SO_ATTACH_FILTER");
  return {};
}

bool is_from_one_of(int socket, std::span<const Address> peers) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return false;
  Address other{.is_ipv6 = storage.ss_family == AF_INET6, .bytes = {}, .zone = {}, .text = {}};
  if (other.is_ipv6)
    std::memcpy(other.bytes.data(), &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr,
                sizeof(in6_addr));
  else
    std::memcpy(other.bytes.data(), &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr,
                sizeof(in_addr));
  return std::any_of(peers.begin(), peers.end(),
                     [&other](const Address& peer) { return is_same_address(peer, other); });
}

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
