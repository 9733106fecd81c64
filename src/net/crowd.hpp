// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_set>

#include "net/http.hpp"

namespace autopilot::net {

class Connection;

// Key that groups the connections of one peer: the uid for a Unix socket, or the TCP address without its
// port. All loopback addresses form one peer, and so do all addresses of one IPv6 /64, because one program
// can use as many of them as it wants.
[[nodiscard]] std::string peer_key(const Peer& peer);

// Resources that the connections of one peer hold.
struct PeerUse {
  std::size_t connections = 0;
  std::size_t streams = 0;
  std::size_t bytes = 0;
};

// One counted connection. Only Crowd writes it.
struct Guest {
  Guest(Connection* of, std::string of_peer) : connection(of), peer(std::move(of_peer)) {}

  Connection* const connection;
  const std::string peer;
  PeerUse* use = nullptr;           // of its peer; null after it has left
  bool is_waiting = false;          // for its client, to send a request or to read a response
  std::uint64_t waiting_since = 0;  // sequence number, higher for each later wait
  std::uint64_t stream_since = 0;   // sequence number; 0: not an event stream
  std::size_t held_bytes = 0;
};

// Whether another connection, stream or number of bytes is admitted, and which connection must close for it.
struct Room {
  bool is_there = false;
  Guest* instead_of = nullptr;  // the caller closes it; null: none has to close
};

// Counts the resources that the peers of one kind of listener hold. Below the limits, every request is
// admitted. At a limit, the peer that holds most loses the connection that has waited longest for its client,
// so that one peer cannot lock out the others. Pure; on the loop's thread.
class Crowd {
 public:
  void enter(Guest& guest);
  // Releases all resources of the guest. Does nothing if it has left before.
  void leave(Guest& guest);
  void begin_wait(Guest& guest);
  void end_wait(Guest& guest);
  void begin_stream(Guest& guest);
  void end_stream(Guest& guest);
  void hold(Guest& guest, std::size_t bytes);

  // For one more connection of a peer, with `most` allowed in total. A connection whose request is being
  // answered is not closed.
  [[nodiscard]] Room room_for_connection(const std::string& peer, std::size_t most) const;
  // For one more event stream. Only a peer with at least two streams more than this peer loses one: otherwise
  // streams that reconnect would displace each other forever.
  [[nodiscard]] Room room_for_stream(const Guest& guest, std::size_t most) const;
  // Replaces the bytes that the guest holds by `bytes`. Of the guest's own peer, only a connection that holds
  // more than `bytes` is closed.
  [[nodiscard]] Room room_for_bytes(const Guest& guest, std::size_t bytes, std::size_t most) const;

  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

 private:
  using Part = std::size_t PeerUse::*;
  using MayGo = std::function<bool(const Guest& guest)>;
  using GoesBefore = std::function<bool(const Guest& guest, const Guest& other)>;

  // The guest to close: of the peer with most of `part` that has a guest which can close.
  [[nodiscard]] Guest* find(Part part, const MayGo& may_go, const GoesBefore& goes_before) const;

  std::unordered_set<Guest*> guests_;
  std::map<std::string, PeerUse, std::less<>> peers_;
  std::size_t streams_ = 0;
  std::size_t held_bytes_ = 0;
  std::uint64_t waits_ = 0;
};

}  // namespace autopilot::net
