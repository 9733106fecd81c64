// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "core/result.hpp"
#include "nccl/place.hpp"

namespace autopilot::simulator::nccl {

// A TCP socket, closed by its owner.
class Connection {
 public:
  Connection() = default;
  explicit Connection(int fd) : fd_(fd) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  Connection(Connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  [[nodiscard]] int fd() const { return fd_; }

  // Sends all bytes, without a deadline. False: the peer has closed.
  [[nodiscard]] bool send(const void* bytes, std::size_t size) const;
  [[nodiscard]] bool receive(void* bytes, std::size_t size) const;

 private:
  int fd_ = -1;
};

// Listens on a free port, at the address of the interface in NCCL_SOCKET_IFNAME, such as "=eth0", or of
// loopback. The place gets a new secret.
[[nodiscard]] Result<std::pair<Connection, Place>> listen_at_own_address();
[[nodiscard]] Result<Connection> connect_to(const Place& place);
// The connection has descriptor -1 if no client waits any more.
[[nodiscard]] Connection accept_from(const Connection& listener);

}  // namespace autopilot::simulator::nccl
