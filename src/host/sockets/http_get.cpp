// SPDX-License-Identifier: Apache-2.0
#include "host/sockets/http_get.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>

#include "core/parse.hpp"
#include "host/files/fd.hpp"

namespace autopilot::host {
namespace {

constexpr std::size_t kMaxHeader = 16 * 1024;

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

std::optional<SocketAddress> parse_address(const HttpPlace& place) {
  SocketAddress made;
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (::inet_pton(AF_INET, place.address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(place.port);
    std::memcpy(&made.storage, &four, made.size = sizeof four);
  } else if (::inet_pton(AF_INET6, place.address.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(place.port);
    std::memcpy(&made.storage, &six, made.size = sizeof six);
  } else {
    return std::nullopt;
  }
  return made;
}

std::string shown(const HttpPlace& place) {
  return to_printable(place.address, 64) + " port " + std::to_string(place.port);
}

tl::unexpected<Error> late(const std::string& where) {
  return fail(Errc::timed_out, where + ": no complete answer in time");
}

Result<Fd> connect_to(const SocketAddress& address, const std::string& where, MonoTime deadline) {
  Fd socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail_errno(errno, where);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0)
    return socket;
  if (errno != EINPROGRESS) return fail_errno(errno, where);
  if (!poll_until(socket.get(), POLLOUT, deadline)) return late(where);
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return fail(Errc::unavailable, where + ": " + std::strerror(error));
  return socket;
}

Status send_all_until(const Fd& socket, std::string_view bytes, const std::string& where, MonoTime deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
      if (!poll_until(socket.get(), POLLOUT, deadline)) return late(where);
      continue;
    }
    if (sent < 0) return fail(Errc::unavailable, where + ": " + std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<std::string> receive_all(const Fd& socket, const std::string& where, std::size_t limit,
                                MonoTime deadline) {
  std::string answer;
  std::array<char, 16384> some{};
  while (true) {
    if (!poll_until(socket.get(), POLLIN, deadline) || mono_now() >= deadline) return late(where);
    const ssize_t got = ::recv(socket.get(), some.data(), some.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return fail(Errc::unavailable, where + ": " + std::strerror(errno));
    if (got == 0) return answer;
    answer.append(some.data(), static_cast<std::size_t>(got));
    if (answer.size() > limit)
      return fail(Errc::exhausted, where + ": the answer is longer than " + std::to_string(limit) + " bytes");
  }
}

// The value of a header in lower case; empty: it is missing.
std::string_view header_of(std::string_view head, std::string_view name) {
  for (std::string_view line : split(head, '\n')) {
    line = trim(line);
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':'))
      return trim(line.substr(name.size() + 1));
  }
  return {};
}

Result<std::string> join_chunks(std::string_view body) {
  std::string whole;
  while (true) {
    const std::size_t end = body.find("\r\n");
    const std::string_view line = body.substr(0, std::min(end, body.size()));
    const auto size = parse_number<std::size_t>(trim(line.substr(0, line.find(';'))), 16);
    if (end == std::string_view::npos || !size)
      return fail(Errc::malformed, "a chunk of the answer has no size");
    body.remove_prefix(end + 2);
    if (*size == 0) return whole;
    if (body.size() < *size || body.size() - *size < 2)
      return fail(Errc::unavailable, "the connection broke");
    whole.append(body.substr(0, *size));
    body.remove_prefix(*size + 2);
  }
}

}  // namespace

Result<std::string> parse_http_answer(std::string_view answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.") || end == std::string_view::npos)
    return fail(
        end == std::string_view::npos && answer.size() > kMaxHeader ? Errc::exhausted : Errc::malformed,
        "the answer is not HTTP");
  if (end > kMaxHeader) return fail(Errc::exhausted, "the header of the answer is longer than 16 KiB");
  const std::string head = to_lower(answer.substr(0, end));
  const std::string_view status =
      std::string_view(head).substr(std::min<std::size_t>(9, head.size())).substr(0, 3);
  if (status != "200")
    return fail(Errc::unavailable,
                "status " + to_printable(status) + (status.starts_with('3') ? ", a redirect" : ""));
  std::string_view body = answer.substr(end + 4);
  if (header_of(head, "transfer-encoding") == "chunked") return join_chunks(body);
  if (const std::string_view length = header_of(head, "content-length"); !length.empty()) {
    const auto bytes = parse_number<std::size_t>(length);
    if (!bytes) return fail(Errc::malformed, "the answer has no valid length");
    if (body.size() < *bytes) return fail(Errc::unavailable, "the connection broke");
    body = body.substr(0, *bytes);
  }
  return std::string(body);
}

Result<std::string> http_get(const HttpPlace& place, std::size_t limit, MonoTime deadline) {
  const std::string where = shown(place);
  const auto address = parse_address(place);
  if (!address || place.port == 0) return fail(Errc::malformed, where + ": not an IP address and a port");
  if (!place.path.starts_with('/') || !is_printable(place.path) || place.path.find(' ') != std::string::npos)
    return fail(Errc::malformed, where + ": not a valid path");
  const Fd socket = TRY(connect_to(*address, where, deadline));
  const bool is_six = place.address.find(':') != std::string::npos;
  const std::string host = is_six ? "[" + place.address + "]" : place.address;
  TRY_STATUS(send_all_until(socket,
                            "GET " + place.path + " HTTP/1.1\r\nHost: " + host + ":" +
                                std::to_string(place.port) +
                                "\r\nAccept: text/plain\r\nConnection: close\r\n\r\n",
                            where, deadline));
  const std::string answer = TRY(receive_all(socket, where, limit + kMaxHeader, deadline));
  auto body = parse_http_answer(answer);
  if (!body) return fail(body.error().code, where + ": " + body.error().what);
  if (body->size() > limit)
    return fail(Errc::exhausted, where + ": the answer is longer than " + std::to_string(limit) + " bytes");
  return body;
}

}  // namespace autopilot::host
