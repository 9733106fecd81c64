// SPDX-License-Identifier: Apache-2.0
#include "nccl/connection.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ifaddrs.h>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <random>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace autopilot::simulator::nccl {
namespace {

// Layout within an id; the rest of the id is zero.
struct Written {
  char mark[8];
  std::uint64_t secret;
  std::uint32_t address;
  std::uint16_t port;
  std::uint16_t unused;
};
static_assert(sizeof(Written) == 24);
constexpr char kMark[9] = "simulate";

}  // namespace

probes::gpu::nccl::UniqueId to_id(const Place& place) {
  Written written{
      .mark = {}, .secret = place.secret, .address = place.address, .port = place.port, .unused = 0};
  std::memcpy(written.mark, kMark, sizeof written.mark);
  probes::gpu::nccl::UniqueId id{};
  std::memcpy(id.bytes, &written, sizeof written);
  return id;
}

std::optional<Place> parse_id(const probes::gpu::nccl::UniqueId& id) {
  Written written{};
  std::memcpy(&written, id.bytes, sizeof written);
  if (std::memcmp(written.mark, kMark, sizeof written.mark) != 0) return std::nullopt;
  return Place{.address = written.address, .port = written.port, .secret = written.secret};
}

std::string to_text(const Place& place) {
  std::array<char, INET_ADDRSTRLEN> text{};
  inet_ntop(AF_INET, &place.address, text.data(), text.size());
  return std::string(text.data()) + "<" + std::to_string(place.port) + ">";
}

namespace {

constexpr const char* kInterface = "NCCL_SOCKET_IFNAME";
constexpr int kBacklog = 128;

sockaddr_in socket_address(std::uint32_t address, std::uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = address;
  to.sin_port = htons(port);
  return to;
}

// Sends small messages without delay.
void disable_delay(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Result<std::uint32_t> own_address() {
  const char* variable = std::getenv(kInterface);
  if (variable == nullptr) return htonl(INADDR_LOOPBACK);
  const std::string name = *variable == '=' ? variable + 1 : variable;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return fail_errno(errno, "getifaddrs");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next)
    if (name == one->ifa_name && one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET)
      return reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr.s_addr;
  return fail(Errc::not_found, "no interface " + name + " with an IPv4 address");
}

std::uint64_t new_secret() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Connection::~Connection() {
  if (fd_ >= 0) ::close(fd_);
}

bool Connection::send(const void* bytes, std::size_t size) const {
  const auto* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = ::send(fd_, from, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    from += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool Connection::receive(void* bytes, std::size_t size) const {
  auto* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = ::recv(fd_, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

Result<std::pair<Connection, Place>> listen_at_own_address() {
  Place place;
  place.address = TRY(own_address());
  place.secret = new_secret();
  Connection listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in here = socket_address(place.address, 0);
  socklen_t size = sizeof here;
  if (::bind(listener.fd(), reinterpret_cast<const sockaddr*>(&here), size) != 0 ||
      ::listen(listener.fd(), kBacklog) != 0 ||
      ::getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&here), &size) != 0)
    return fail_errno(errno, "listening at " + to_text(place));
  place.port = ntohs(here.sin_port);
  return std::pair(std::move(listener), place);
}

Result<Connection> connect_to(const Place& place) {
  Connection connection(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in there = socket_address(place.address, place.port);
  if (::connect(connection.fd(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0)
    return fail_errno(errno, "connect to " + to_text(place) + " failed");
  disable_delay(connection.fd());
  return connection;
}

Connection accept_from(const Connection& listener) {
  const int fd = ::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC);
  if (fd >= 0) disable_delay(fd);
  return Connection(fd);
}

}  // namespace autopilot::simulator::nccl
