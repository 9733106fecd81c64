// SPDX-License-Identifier: Apache-2.0
#include "host/sockets/datagram_socket.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace autopilot::host {
namespace {

Status remove_old_socket(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return errno == ENOENT ? Status{} : fail_errno(errno, path);
  if (!S_ISSOCK(status.st_mode))
    return fail(Errc::conflict, path + ": not a socket; remove it, or configure another path");
  if (::unlink(path.c_str()) != 0) return fail_errno(errno, path);
  return {};
}

std::int64_t sender_of(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_CREDENTIALS) continue;
    ucred credentials{};
    std::memcpy(&credentials, CMSG_DATA(part), sizeof credentials);
    return credentials.pid;
  }
  return 0;
}

}  // namespace

Result<DatagramSocket> DatagramSocket::open(std::string path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(Errc::malformed, path + ": longer than a path of a socket may be (107 bytes)");
  std::memcpy(address.sun_path, path.data(), path.size());
  TRY_STATUS(remove_old_socket(path));
  Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0)
    return fail_errno(errno, path);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0666) != 0)
    return fail_errno(errno, path);
  return DatagramSocket(std::move(path), std::move(socket));
}

DatagramSocket::~DatagramSocket() {
  if (socket_) ::unlink(path_.c_str());
}

Result<std::optional<Datagram>> DatagramSocket::receive(std::size_t limit) {
  Datagram datagram;
  datagram.bytes.resize(limit);
  iovec piece{.iov_base = datagram.bytes.data(), .iov_len = limit};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    // Descriptors that come along are closed by the kernel: there is no room for them.
    got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
  if (got < 0) return fail_errno(errno, path_);
  datagram.bytes.resize(static_cast<std::size_t>(got));
  datagram.is_cut = (message.msg_flags & MSG_TRUNC) != 0;
  datagram.pid = sender_of(message);
  return datagram;
}

Status replace_public_file(const std::string& path, std::string_view text) {
  const std::string next = path + ".next";
  if (::unlink(next.c_str()) != 0 && errno != ENOENT) return fail_errno(errno, next);
  const Fd file(::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file || ::fchmod(file.get(), 0644) != 0) return fail_errno(errno, next);
  const ssize_t written = ::write(file.get(), text.data(), text.size());
  if (written < 0 || static_cast<std::size_t>(written) != text.size())
    return written < 0 ? fail_errno(errno, next) : fail(Errc::exhausted, next + ": the disk is full");
  if (std::rename(next.c_str(), path.c_str()) != 0) return fail_errno(errno, path);
  return {};
}

Status make_public_folder(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    if (::mkdir(folder.c_str(), 0755) == 0) {
      if (::chmod(folder.c_str(), 0755) != 0) return fail_errno(errno, folder);
    } else if (errno != EEXIST) {
      return fail_errno(errno, folder);
    }
    if (end == std::string::npos) return {};
  }
}

}  // namespace autopilot::host
