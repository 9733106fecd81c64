// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "core/result.hpp"
#include "net/address.hpp"
#include "net/http.hpp"

namespace autopilot::net {

// Owns a descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// A listening socket and its address; an empty address means all addresses of the machine.
struct TcpListening {
  FileDescriptor socket;
  IpPort bound;
};
[[nodiscard]] Result<TcpListening> listen_on_tcp(const IpPort& address);

// A listening socket and the identity of its file.
struct UnixListening {
  FileDescriptor socket;
  std::string path;
  unsigned long long device = 0;
  unsigned long long inode = 0;
};
[[nodiscard]] Result<UnixListening> listen_on_unix(const std::string& path, unsigned mode);
// Removes the socket file unless another file has replaced it.
void remove_socket_file(const UnixListening& listening);

// Credentials or address of the remote side of an accepted socket.
[[nodiscard]] Peer peer_of(int fd);
void set_no_delay(int fd);

}  // namespace autopilot::net
