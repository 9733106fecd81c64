// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "host/sockets/datagram_socket.hpp"

namespace autopilot::host {

// A datagram socket with a thread that empties it: the kernel keeps as few as ten datagrams, and drops the
// next ones. Receives at most about 6,400 a second, so that a flood costs little. Thread-safe.
class DatagramInbox {
 public:
  static constexpr std::size_t kMaxQueued = 4096;  // further ones are dropped and counted

  // Errors of DatagramSocket::open. `limit`: bytes that are kept of a datagram.
  [[nodiscard]] static Result<std::unique_ptr<DatagramInbox>> open(std::string path, std::size_t limit);
  DatagramInbox(const DatagramInbox&) = delete;
  DatagramInbox& operator=(const DatagramInbox&) = delete;
  ~DatagramInbox();

  // What arrived since the last call, in order.
  [[nodiscard]] std::vector<Datagram> take();
  [[nodiscard]] std::size_t dropped() const;

 private:
  struct State;
  explicit DatagramInbox(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace autopilot::host
