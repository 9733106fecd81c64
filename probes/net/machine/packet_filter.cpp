// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/packet_filter.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <vector>

namespace autopilot::probes::net {
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

}  // namespace autopilot::probes::net
