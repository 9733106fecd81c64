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

// By what the connections of one peer are known to belong together: the uid of a Unix socket; the address of
// TCP without its port. All loopback addresses are one peer, and so are the addresses of one IPv6 /64: one
// program has as many of them as it wants.
[[nodiscard]] std::string peer_key(const Peer& peer);

// What the connections of one peer hold.
struct PeerUse {
  std::size_t connections = 0;
  std::size_t streams = 0;
  std::size_t bytes = 0;
};

// One connection as it is counted. Written by Crowd alone.
struct Guest {
  Guest(Connection* of, std::string of_peer) : connection(of), peer(std::move(of_peer)) {}

  Connection* const connection;
  const std::string peer;
  PeerUse* use = nullptr;           // of its peer; null: it has left
  bool is_waiting = false;          // for its client: to send a request or to take an answer
  std::uint64_t waiting_since = 0;  // a number that grows with each wait
  std::uint64_t stream_since = 0;   // likewise; 0: no event stream
  std::size_t held_bytes = 0;
};

// Whether something more is let in, and who has to go for it.
struct Room {
  bool is_there = false;
  Guest* instead_of = nullptr;  // the caller ends it; null: none has to go
};

// Who holds what of the listeners of one kind. As long as there is enough, everybody gets what he asks for.
// When there is not, the peer that holds most gives way, with what has waited for its client for the longest
// time; so no peer keeps the others out. Pure; on the loop's thread.
class Crowd {
 public:
  void enter(Guest& guest);
  // It gives back all that it holds. Does nothing when it has left.
  void leave(Guest& guest);
  void begin_wait(Guest& guest);
  void end_wait(Guest& guest);
  void begin_stream(Guest& guest);
  void end_stream(Guest& guest);
  void hold(Guest& guest, std::size_t bytes);

  // For one more connection of a peer, where there may be `most`. A connection that is being answered stays.
  [[nodiscard]] Room room_for_connection(const std::string& peer, std::size_t most) const;
  // For one more event stream. Only a peer with two more than this one gives way: streams that come again
  // would push each other out for ever.
  [[nodiscard]] Room room_for_stream(const Guest& guest, std::size_t most) const;
  // For `bytes` in place of what the guest holds. Of its own peer only who holds more than that gives way.
  [[nodiscard]] Room room_for_bytes(const Guest& guest, std::size_t bytes, std::size_t most) const;

  [[nodiscard]] std::size_t held_bytes() const { return held_bytes_; }

 private:
  using Part = std::size_t PeerUse::*;
  using MayGo = std::function<bool(const Guest& guest)>;
  using GoesBefore = std::function<bool(const Guest& guest, const Guest& other)>;

  // The guest that gives way: of the peer with most of `part` which has one that may go.
  [[nodiscard]] Guest* find(Part part, const MayGo& may_go, const GoesBefore& goes_before) const;

  std::unordered_set<Guest*> guests_;
  std::map<std::string, PeerUse, std::less<>> peers_;
  std::size_t streams_ = 0;
  std::size_t held_bytes_ = 0;
  std::uint64_t waits_ = 0;
};

}  // namespace autopilot::net
