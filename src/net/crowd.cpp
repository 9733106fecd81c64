// SPDX-License-Identifier: Apache-2.0
#include "net/crowd.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "net/url.hpp"

namespace autopilot::net {
namespace {

constexpr std::string_view kLoopback = "loopback";
constexpr std::string_view kMapped = "::ffff:";  // an IPv4 address on an IPv6 socket

std::string ipv6_network(const std::string& address) {
  in6_addr bytes{};
  if (inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return address;
  std::memset(&bytes.s6_addr[8], 0, 8);
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, &bytes, text.data(), text.size());
  return std::string(text.data()) + "/64";
}

}  // namespace

std::string peer_key(const Peer& peer) {
  if (peer.is_local_socket) return "uid " + std::to_string(peer.uid);
  const auto parsed = parse_ip_port(peer.address);
  if (!parsed) return peer.address;
  std::string address = parsed->address;
  if (address.starts_with(kMapped) && address.find('.') != std::string::npos)
    address.erase(0, kMapped.size());
  if (address.starts_with("127.") || address == "::1") return std::string(kLoopback);
  return address.find(':') == std::string::npos ? address : ipv6_network(address);
}

void Crowd::enter(Guest& guest) {
  guests_.insert(&guest);
  guest.use = &peers_[guest.peer];
  ++guest.use->connections;
  begin_wait(guest);
}

void Crowd::leave(Guest& guest) {
  if (guest.use == nullptr) return;
  end_stream(guest);
  hold(guest, 0);
  guests_.erase(&guest);
  if (--std::exchange(guest.use, nullptr)->connections == 0) peers_.erase(guest.peer);
}

void Crowd::begin_wait(Guest& guest) {
  guest.is_waiting = true;
  guest.waiting_since = ++waits_;
}

void Crowd::end_wait(Guest& guest) {
  guest.is_waiting = false;
}

void Crowd::begin_stream(Guest& guest) {
  if (guest.use == nullptr) return;
  guest.stream_since = ++waits_;
  ++guest.use->streams;
  ++streams_;
}

void Crowd::end_stream(Guest& guest) {
  if (guest.use == nullptr || std::exchange(guest.stream_since, 0) == 0) return;
  --guest.use->streams;
  --streams_;
}

void Crowd::hold(Guest& guest, std::size_t bytes) {
  if (guest.use == nullptr) return;
  guest.use->bytes = guest.use->bytes - guest.held_bytes + bytes;
  held_bytes_ = held_bytes_ - guest.held_bytes + bytes;
  guest.held_bytes = bytes;
}

Room Crowd::room_for_connection(const std::string& peer, std::size_t most) const {
  if (guests_.size() < most) return {.is_there = true};
  const auto found = peers_.find(peer);
  const std::size_t own = found == peers_.end() ? 0 : found->second.connections;
  Guest* victim = find(
      &PeerUse::connections,
      [&](const Guest& guest) {
        return guest.is_waiting && (guest.use->connections > own || guest.peer == peer);
      },
      [](const Guest& guest, const Guest& other) { return guest.waiting_since < other.waiting_since; });
  return {.is_there = victim != nullptr, .instead_of = victim};
}

Room Crowd::room_for_stream(const Guest& guest, std::size_t most) const {
  if (guest.use == nullptr || most == 0) return {};
  if (streams_ < most) return {.is_there = true};
  const std::size_t own = guest.use->streams;
  Guest* victim = find(
      &PeerUse::streams,
      [&](const Guest& other) { return other.stream_since != 0 && other.use->streams > own + 1; },
      [](const Guest& other, const Guest& another) { return other.stream_since < another.stream_since; });
  return {.is_there = victim != nullptr, .instead_of = victim};
}

Room Crowd::room_for_bytes(const Guest& guest, std::size_t bytes, std::size_t most) const {
  if (guest.use == nullptr) return {};
  if (held_bytes_ - guest.held_bytes + bytes <= most) return {.is_there = true};
  const std::size_t own = guest.use->bytes - guest.held_bytes + bytes;
  Guest* victim = find(
      &PeerUse::bytes,
      [&](const Guest& other) {
        if (&other == &guest || !other.is_waiting) return false;
        return other.use == guest.use ? other.held_bytes > bytes
                                      : other.held_bytes > 0 && other.use->bytes > own;
      },
      [](const Guest& other, const Guest& another) { return other.held_bytes > another.held_bytes; });
  return {.is_there = victim != nullptr, .instead_of = victim};
}

Guest* Crowd::find(Part part, const MayGo& may_go, const GoesBefore& goes_before) const {
  Guest* chosen = nullptr;
  for (Guest* guest : guests_) {
    if (!may_go(*guest)) continue;
    const std::size_t use = guest->use->*part;
    const std::size_t most = chosen == nullptr ? 0 : chosen->use->*part;
    if (chosen == nullptr || use > most || (use == most && goes_before(*guest, *chosen))) chosen = guest;
  }
  return chosen;
}

}  // namespace autopilot::net
