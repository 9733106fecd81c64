// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/result.hpp"
#include "net/crowd.hpp"
#include "net/http.hpp"
#include "net/router.hpp"
#include "net/server_core.hpp"
#include "net/url.hpp"

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

using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

// One listening socket and the rules for the connections that it accepts. Use it on the loop's thread.
class Listener {
 public:
  Listener(Acceptor listening, Crowd& of) : acceptor(std::move(listening)), crowd(of) {}

  void close();

  Acceptor acceptor;
  std::optional<HostPolicy> policy;          // set for TCP
  std::optional<UnixListening> socket_file;  // set for a Unix socket; the acceptor owns its descriptor
  bool is_encrypted = false;
  std::shared_ptr<const TlsContext> tls;  // for new connections; null: TLS handshakes are refused
  Crowd& crowd;                           // counts the open connections
};

// Accepts until the listener is closed.
void start_accepting(std::shared_ptr<HttpServer::Core> core, std::shared_ptr<Listener> listener);

}  // namespace autopilot::net
