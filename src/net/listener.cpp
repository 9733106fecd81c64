// SPDX-License-Identifier: Apache-2.0

#include "net/listener.hpp"

#include <arpa/inet.h>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "net/connection.hpp"
#include "net/message_text.hpp"
#include "net/streams.hpp"

namespace autopilot::net {

namespace {

// Any of the addresses below, and the generic struct of the kernel.
union SocketAddress {
  sockaddr any;
  sockaddr_in ipv4;
  sockaddr_in6 ipv6;
  sockaddr_un local;
  sockaddr_storage storage;
};

SocketAddress make_ip(const IpPort& address, bool is_ipv6) {
  SocketAddress result{};
  if (is_ipv6) {
    result.ipv6.sin6_family = AF_INET6;
    result.ipv6.sin6_port = htons(address.port);
    if (!address.address.empty()) inet_pton(AF_INET6, address.address.c_str(), &result.ipv6.sin6_addr);
  } else {
    result.ipv4.sin_family = AF_INET;
    result.ipv4.sin_port = htons(address.port);
    if (!address.address.empty()) inet_pton(AF_INET, address.address.c_str(), &result.ipv4.sin_addr);
  }
  return result;
}

IpPort from_ip(const SocketAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  IpPort result;
  if (address.any.sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &address.ipv6.sin6_addr, text.data(), text.size());
    result.port = ntohs(address.ipv6.sin6_port);
  } else {
    inet_ntop(AF_INET, &address.ipv4.sin_addr, text.data(), text.size());
    result.port = ntohs(address.ipv4.sin_port);
  }
  result.address = text.data();
  return result;
}

Result<FileDescriptor> open_tcp(const IpPort& address, bool is_ipv6) {
  FileDescriptor socket(::socket(is_ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return fail_errno(errno, "open a TCP socket");
  const int on = 1;
  const int off = 0;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (is_ipv6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  const SocketAddress where = make_ip(address, is_ipv6);
  const socklen_t size = is_ipv6 ? sizeof where.ipv6 : sizeof where.ipv4;
  if (bind(socket.get(), &where.any, size) != 0 || listen(socket.get(), SOMAXCONN) != 0) {
    if (errno == EADDRINUSE)
      return fail(Errc::conflict, to_string(address) + " is in use by another program");
    return fail_errno(errno, "listen on " + to_string(address));
  }
  return socket;
}

Result<sockaddr_un> make_local(const std::string& path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return fail(Errc::malformed, "socket path '" + path + "': expected 1 to " +
                                     std::to_string(sizeof address.sun_path - 1) + " bytes");
  address.sun_family = AF_UNIX;
  std::memcpy(&address.sun_path, path.data(), path.size());
  return address;
}

// conflict: a program listens on the path, or the path is not a socket.
Status check_free(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno(errno, path);
  }
  if (!S_ISSOCK(info.st_mode)) return fail(Errc::conflict, path + " exists and is not a socket");
  SocketAddress address{};
  address.local = TRY(make_local(path));
  const FileDescriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.get() < 0) return fail_errno(errno, "open a Unix socket");
  if (connect(probe.get(), &address.any, sizeof address.local) != 0 && errno == ECONNREFUSED) return {};
  return fail(Errc::conflict, "another program listens on " + path);
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

Result<TcpListening> listen_on_tcp(const IpPort& address) {
  const bool is_ipv6 = address.address.empty() || address.address.find(':') != std::string::npos;
  auto socket = open_tcp(address, is_ipv6);
  // A kernel without IPv6 still accepts all IPv4 addresses.
  if (!socket && address.address.empty() && socket.error().code != Errc::conflict)
    socket = open_tcp(address, false);
  TcpListening listening;
  listening.socket = TRY(std::move(socket));
  SocketAddress bound{};
  socklen_t size = sizeof bound;
  if (getsockname(listening.socket.get(), &bound.any, &size) != 0) return fail_errno(errno, "getsockname");
  listening.bound = from_ip(bound);
  return listening;
}

Result<UnixListening> listen_on_unix(const std::string& path, unsigned mode) {
  TRY_STATUS(check_free(path));
  // The socket is created under another name and renamed when it is ready: no client meets it with wrong
  // permissions or before it listens, and a stale socket is replaced atomically.
  const std::string draft = path + ".new";
  SocketAddress address{};
  address.local = TRY(make_local(draft));
  UnixListening listening;
  listening.path = path;
  listening.socket = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listening.socket.get() < 0) return fail_errno(errno, "open a Unix socket");
  unlink(draft.c_str());
  if (bind(listening.socket.get(), &address.any, sizeof address.local) != 0) return fail_errno(errno, path);
  struct stat info {};
  if (chmod(draft.c_str(), mode) != 0 || listen(listening.socket.get(), SOMAXCONN) != 0 ||
      stat(draft.c_str(), &info) != 0 || rename(draft.c_str(), path.c_str()) != 0) {
    const int error = errno;
    unlink(draft.c_str());
    return fail_errno(error, path);
  }
  listening.device = info.st_dev;
  listening.inode = info.st_ino;
  return listening;
}

void remove_socket_file(const UnixListening& listening) {
  struct stat info {};
  if (lstat(listening.path.c_str(), &info) != 0) return;
  if (info.st_dev == listening.device && info.st_ino == listening.inode) unlink(listening.path.c_str());
}

Peer peer_of(int fd) {
  Peer peer;
  SocketAddress address{};
  socklen_t size = sizeof address;
  if (getpeername(fd, &address.any, &size) != 0) return peer;
  if (address.any.sa_family != AF_UNIX) {
    peer.address = to_string(from_ip(address));
    return peer;
  }
  ucred credentials{};
  socklen_t credentials_size = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &credentials_size) != 0) return peer;
  peer.is_local_socket = true;
  peer.is_owner = credentials.uid == 0 || credentials.uid == geteuid();
  peer.uid = credentials.uid;
  peer.gid = credentials.gid;
  peer.pid = credentials.pid;
  return peer;
}

void set_no_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

// Pause after accept() fails (no descriptors or memory): the cause seldom disappears immediately.
constexpr Duration kAcceptPause = std::chrono::milliseconds{100};

void refuse(Socket socket) {
  const HttpResponse response = too_many_connections();
  const std::string text = format_head(response, Framing()) + response.body;
  ServerStream(std::move(socket), nullptr).say_in_the_clear(text);
}

void admit(const std::shared_ptr<HttpServer::Core>& core, const std::shared_ptr<Listener>& listener,
           Socket socket) {
  Peer peer = peer_of(socket.native_handle());
  const std::size_t most = core->share_of(listener->crowd, core->limits.connections);
  const Room room = listener->crowd.room_for_connection(peer_key(peer), most);
  if (!room.is_there) {
    ++core->counters->connections_refused;
    if (!listener->is_encrypted) refuse(std::move(socket));
    return;
  }
  if (room.instead_of != nullptr) room.instead_of->connection->displace();
  ++core->counters->connections_accepted;
  if (listener->is_encrypted && !listener->tls) {
    ++core->counters->handshakes_failed;
    return;
  }
  if (!peer.is_local_socket) set_no_delay(socket.native_handle());
  peer.is_encrypted = listener->is_encrypted;
  std::make_shared<Connection>(std::move(socket), core, listener, std::move(peer))->start();
}

asio::awaitable<void> accept_connections(std::shared_ptr<HttpServer::Core> core,
                                         std::shared_ptr<Listener> listener) {
  asio::steady_timer pause(listener->acceptor.get_executor());
  while (listener->acceptor.is_open()) {
    Socket socket(listener->acceptor.get_executor());
    const auto [error] = co_await listener->acceptor.async_accept(socket, kToken);
    if (!listener->acceptor.is_open()) break;
    if (!error) {
      admit(core, listener, std::move(socket));
      continue;
    }
    ++core->counters->accept_errors;
    pause.expires_after(kAcceptPause);
    co_await pause.async_wait(kToken);
  }
}

}  // namespace

void Listener::close() {
  error_code ignored;
  acceptor.close(ignored);
  if (socket_file) remove_socket_file(*socket_file);
}

void start_accepting(std::shared_ptr<HttpServer::Core> core, std::shared_ptr<Listener> listener) {
  const auto executor = listener->acceptor.get_executor();
  asio::co_spawn(executor, accept_connections(std::move(core), std::move(listener)),
                 [](const std::exception_ptr& error) {
                   if (error) std::rethrow_exception(error);
                 });
}

}  // namespace autopilot::net
