// SPDX-License-Identifier: Apache-2.0
#include "host/nccl_ras/ras_client.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/parse.hpp"
#include "host/files/fd.hpp"
#include "host/nccl_ras/ras_answer.hpp"

namespace autopilot::host {
namespace {

constexpr std::size_t kMaxReply = 1024;  // bytes of the line that answers a command
// NCCL itself waits that long for other processes, at most; and less, so that its answer arrives in time.
constexpr auto kMaxGathering = std::chrono::seconds{8};
constexpr auto kMargin = std::chrono::seconds{2};

std::string to_text(const RasAddress& address) {
  const char* const host = address.host == RasHost::ipv6 ? "[::1]" : "127.0.0.1";
  return "NCCL RAS at " + std::string(host) + ":" + std::to_string(address.port);
}

Result<Fd> begin_connection(const RasAddress& address) {
  const bool is_ipv6 = address.host == RasHost::ipv6;
  Fd socket(::socket(is_ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail_errno(errno, to_text(address));
  sockaddr_in ipv4{};
  ipv4.sin_family = AF_INET;
  ipv4.sin_port = htons(address.port);
  ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 ipv6{};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(address.port);
  ipv6.sin6_addr = in6addr_loopback;
  const auto* const generic =
      is_ipv6 ? reinterpret_cast<const sockaddr*>(&ipv6) : reinterpret_cast<const sockaddr*>(&ipv4);
  const socklen_t size = is_ipv6 ? sizeof(ipv6) : sizeof(ipv4);
  if (::connect(socket.get(), generic, size) == 0 || errno == EINPROGRESS) return socket;
  return fail(Errc::unavailable, to_text(address) + ": no program listens (" + std::strerror(errno) + ")");
}

// One conversation with RAS.
class Conversation {
 public:
  Conversation(Fd socket, std::string name, MonoTime deadline)
      : socket_(std::move(socket)), name_(std::move(name)), deadline_(deadline) {}

  Result<std::string> ask_status() {
    TRY_STATUS(finish_connection());
    const std::string greeting = TRY(command("CLIENT PROTOCOL 2\n"));
    if (!to_lower(greeting).starts_with("server protocol"))
      return fail(Errc::malformed, name_ + ": the program that listens is not NCCL RAS");
    const auto left = std::chrono::duration_cast<std::chrono::seconds>(deadline_ - mono_now() - kMargin);
    const auto seconds = std::clamp<std::int64_t>(left.count(), 1, kMaxGathering.count());
    (void)TRY(command("TIMEOUT " + std::to_string(seconds) + "\n"));
    // NCCL before 2.28 answers with an error and stays with text.
    (void)TRY(command("SET FORMAT json\n"));
    TRY_STATUS(send("VERBOSE STATUS\n"));
    return read_to_end();
  }

 private:
  [[nodiscard]] Status finish_connection() const {
    TRY_STATUS(wait(POLLOUT));
    int error = 0;
    socklen_t size = sizeof(error);
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error == 0) return {};
    return fail(Errc::unavailable, name_ + ": no program listens (" + std::strerror(error) + ")");
  }

  // Checks the deadline first: a server may send without end.
  [[nodiscard]] Status wait(short events) const {
    if (mono_now() < deadline_ && poll_until(socket_.get(), events, deadline_)) return {};
    return fail(Errc::timed_out, name_ + ": no answer in time");
  }

  Status send(std::string_view bytes) {
    while (!bytes.empty()) {
      TRY_STATUS(wait(POLLOUT));
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (sent < 0) return closed();
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
  }

  // False: the server has closed the connection.
  Result<bool> receive() {
    TRY_STATUS(wait(POLLIN));
    std::array<char, std::size_t{16} * 1024> buffer;
    const ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return true;
    if (got < 0) return closed();
    pending_.append(buffer.data(), static_cast<std::size_t>(got));
    return got > 0;
  }

  // The line that answers.
  Result<std::string> command(const std::string& words) {
    TRY_STATUS(send(words));
    std::size_t end = 0;
    while ((end = pending_.find('\n')) == std::string::npos) {
      if (pending_.size() > kMaxReply)
        return fail(Errc::malformed, name_ + ": the program that listens is not NCCL RAS");
      if (!TRY(receive())) return closed();
    }
    const std::string line = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    return line;
  }

  Result<std::string> read_to_end() {
    while (TRY(receive()))
      if (pending_.size() > kMaxRasBytes)
        return fail(Errc::exhausted,
                    name_ + ": the answer is longer than " + std::to_string(kMaxRasBytes) + " bytes");
    if (pending_.empty()) return closed();
    return std::move(pending_);
  }

  [[nodiscard]] tl::unexpected<Error> closed() const {
    return fail(Errc::unavailable, name_ + ": closed the connection before the answer");
  }

  Fd socket_;
  std::string name_;
  MonoTime deadline_;
  std::string pending_;
};

Result<std::string> query_one(const RasAddress& address, MonoTime deadline) {
  return Conversation(TRY(begin_connection(address)), to_text(address), deadline).ask_status();
}

}  // namespace

Result<RasAddress> parse_ras_address(std::string_view text) {
  text = trim(text);
  if (text.empty()) return RasAddress{};
  const std::size_t colon = text.rfind(':');
  const auto port =
      colon == std::string_view::npos ? std::nullopt : parse_number<std::uint16_t>(text.substr(colon + 1));
  if (!port || *port == 0)
    return fail(Errc::malformed, "NCCL_RAS_ADDR='" + to_printable(text, 100) + "': expected HOST:PORT");
  const std::string host = to_lower(text.substr(0, colon));
  if (host == "localhost") return RasAddress{RasHost::localhost, *port};
  if (host == "127.0.0.1" || host == "0.0.0.0") return RasAddress{RasHost::ipv4, *port};
  if (host == "[::1]" || host == "[::]") return RasAddress{RasHost::ipv6, *port};
  return fail(Errc::unsupported, "NCCL_RAS_ADDR='" + to_printable(text, 100) +
                                     "': only loopback is asked; use localhost:PORT in the job");
}

Result<std::string> query_ras(const RasAddress& address, MonoTime deadline) {
  if (address.host != RasHost::localhost) return query_one(address, deadline);
  auto answer = query_one({RasHost::ipv4, address.port}, deadline);
  if (answer || answer.error().code != Errc::unavailable) return answer;
  auto second = query_one({RasHost::ipv6, address.port}, deadline);
  return second ? std::move(second) : std::move(answer);
}

}  // namespace autopilot::host
