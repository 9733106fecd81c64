// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "core/result.hpp"
#include "nccl/place.hpp"

namespace autopilot::simulator::nccl {

// A socket of TCP, closed with its owner.
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

  // All of it, however long that takes. False: the other end is gone.
  [[nodiscard]] bool send(const void* bytes, std::size_t size) const;
  [[nodiscard]] bool receive(void* bytes, std::size_t size) const;

 private:
  int fd_ = -1;
};

// Listens on a port that the kernel has free, at the address of the interface that NCCL_SOCKET_IFNAME names,
// as "=eth0", or of loopback. The secret of the place is new.
[[nodiscard]] Result<std::pair<Connection, Place>> listen_at_own_address();
[[nodiscard]] Result<Connection> connect_to(const Place& place);
// Nothing waits there any more: -1 in the connection.
[[nodiscard]] Connection accept_from(const Connection& listener);

}  // namespace autopilot::simulator::nccl
