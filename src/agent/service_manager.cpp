// SPDX-License-Identifier: Apache-2.0
#include "agent/service_manager.hpp"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::agent {

ServiceManager::ServiceManager(std::string notify_socket, const std::string& watchdog_microseconds)
    : socket_(std::move(notify_socket)) {
  if (const auto period = parse_number<std::int64_t>(watchdog_microseconds); period && *period > 0)
    watchdog_period_ = std::chrono::microseconds{*period} / 2;
}

Status ServiceManager::notify(const std::string& state) const {
  if (socket_.empty()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() >= sizeof address.sun_path)
    return fail(Errc::malformed, "NOTIFY_SOCKET is too long: " + socket_);
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  // An abstract name begins with a NUL, which the environment spells as '@'.
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail_errno(errno, "socket for NOTIFY_SOCKET");
  const auto sent = ::sendto(fd, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                             reinterpret_cast<const sockaddr*>(&address), size);
  const int error = errno;
  ::close(fd);
  if (sent < 0) return fail_errno(error, "NOTIFY_SOCKET " + socket_);
  return {};
}

}  // namespace autopilot::agent
