// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/result.hpp"
#include "probes/gpu/nccl/nccl_abi.h"

namespace autopilot::simulator::nccl {

// Rendezvous address of the ranks of one communicator, encoded in its id.
struct Place {
  std::uint32_t address = 0;  // IPv4, in network byte order
  std::uint16_t port = 0;     // in host byte order
  std::uint64_t secret = 0;   // authenticates the ranks
};

[[nodiscard]] probes::gpu::nccl::UniqueId to_id(const Place& place);
// nullopt: another library created the id.
[[nodiscard]] std::optional<Place> parse_id(const probes::gpu::nccl::UniqueId& id);

// "127.0.0.1<4711>"
[[nodiscard]] std::string to_text(const Place& place);

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
