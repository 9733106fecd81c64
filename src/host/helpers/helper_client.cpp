// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/helper_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "host/files/fd.hpp"
#include "host/helpers/message.hpp"
#include "logging/log.hpp"

namespace autopilot::host {
std::vector<std::string> StderrLines::take(std::string_view bytes, MonoTime now) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end).substr(0, kMaxLine - line_.size());
    if (end == std::string_view::npos) break;
    end_line(now, lines);
    bytes.remove_prefix(end + 1);
  }
  return lines;
}

std::vector<std::string> StderrLines::finish(MonoTime now) {
  std::vector<std::string> lines;
  if (!line_.empty()) end_line(now, lines);
  return lines;
}

void StderrLines::end_line(MonoTime now, std::vector<std::string>& lines) {
  std::string line = std::exchange(line_, {});
  if (now - window_begin_ >= kWindow) {
    window_begin_ = now;
    lines_ = 0;
  }
  if (lines_ > kMaxLines) return;
  if (lines_++ == kMaxLines) line = "more lines follow within a minute and are left out";
  lines.push_back(std::move(line));
}

std::string_view to_string(HelperFailure failure) {
  switch (failure) {
    case HelperFailure::refused:
      return "refused";
    case HelperFailure::timed_out:
      return "timed_out";
    case HelperFailure::crashed:
      return "crashed";
    case HelperFailure::malformed:
      return "malformed";
    case HelperFailure::exhausted:
      return "exhausted";
    case HelperFailure::not_started:
      return "not_started";
  }
  return "refused";
}

Error error_of_subject(HelperError error) {
  switch (error.failure) {
    case HelperFailure::crashed:
    case HelperFailure::malformed:
    case HelperFailure::not_started:
      error.error.code = Errc::internal;
      break;
    case HelperFailure::refused:
    case HelperFailure::timed_out:
    case HelperFailure::exhausted:
      break;
  }
  return std::move(error.error);
}

HelperResult HelperStream::exchange(std::string_view method, std::string_view params, MonoTime deadline) {
  const std::uint64_t id = next_id_++;
  descriptor_.reset();
  const HelperRequest request{.id = id,
                              .method = std::string(method),
                              .params = std::string(params),
                              .timeout = std::max<Duration>(deadline - mono_now(), Duration{0})};
  const auto frame = encode_frame(encode_request(request));
  if (!frame) return tl::unexpected(HelperError{HelperFailure::refused, frame.error()});
  // A helper that closed the connection before it read the request may have sent a reason.
  if (const auto sent = send(*frame, deadline); !sent && sent.error().failure != HelperFailure::crashed)
    return tl::unexpected(sent.error());
  return receive(id, deadline);
}

HelperStream::Wait HelperStream::wait(short events, MonoTime deadline) const {
  std::array<pollfd, 2> waits{{{socket_.get(), events, 0}, {wake_, POLLIN, 0}}};
  if (!poll_until(waits, deadline)) return Wait::late;
  return waits[1].revents != 0 ? Wait::woken : Wait::ready;
}

tl::expected<void, HelperError> HelperStream::send(std::string_view frame, MonoTime deadline) {
  while (!frame.empty()) {
    const ssize_t sent = ::send(socket_.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      frame.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN)
      return tl::unexpected(failure(HelperFailure::crashed, Errc::unavailable, "closed its socket"));
    if (const Wait waited = wait(POLLOUT, deadline); waited != Wait::ready)
      return tl::unexpected(late(waited, "does not read the request"));
  }
  return {};
}

// With room for one descriptor: the kernel closes any other.
ssize_t HelperStream::receive_bytes(std::span<char> buffer) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec bytes{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_LEN(sizeof(int));  // the padding of CMSG_SPACE has room for another one
  const ssize_t got = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const header = got < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return got;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  descriptor_ = Fd(descriptor);
  return got;
}

HelperResult HelperStream::receive(std::uint64_t id, MonoTime deadline) {
  std::array<char, 16 * 1024> buffer{};
  while (true) {
    const auto frame = reader_.next();
    if (!frame) return tl::unexpected(failure(HelperFailure::malformed, Errc::malformed, frame.error().what));
    if (const std::optional<std::string>& body = *frame; body) {
      auto answer = decode_answer(*body);
      if (!answer)
        return tl::unexpected(failure(HelperFailure::malformed, Errc::malformed, answer.error().what));
      const bool is_connection_error = answer->id == kConnectionErrorId && !answer->result;
      if ((answer->id != id && !is_connection_error) || reader_.pending() != 0)
        return tl::unexpected(
            failure(HelperFailure::malformed, Errc::malformed, "sent an unexpected answer"));
      if (answer->result) return std::move(*answer->result);
      return tl::unexpected(HelperError{HelperFailure::refused, std::move(answer->result).error()});
    }
    if (const Wait waited = wait(POLLIN, deadline); waited != Wait::ready)
      return tl::unexpected(late(waited, "no answer within the deadline"));
    const ssize_t got = receive_bytes(buffer);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
      return tl::unexpected(failure(HelperFailure::crashed, Errc::unavailable, "closed its socket"));
    if (got > 0) reader_.add({buffer.data(), static_cast<std::size_t>(got)});
  }
}

HelperError HelperStream::failure(HelperFailure kind, Errc code, const std::string& what) const {
  return {.failure = kind, .error = {.code = code, .what = name_ + ": " + what}};
}

HelperError HelperStream::late(Wait wait, const std::string& what) const {
  return failure(HelperFailure::timed_out, Errc::timed_out, wait == Wait::woken ? "interrupted" : what);
}

namespace {

// How long to wait for the exit code of a helper that closed its socket.
constexpr auto kExitPatience = std::chrono::seconds{1};

// The kernel's room for a pipe.
constexpr std::size_t kPipeRoom = std::size_t{64} << 10;

// Neither end blocks: bytes beyond kPipeRoom are lost.
struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno(errno, "pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// At most kPipeRoom bytes.
std::string read_pipe(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  while (text.size() < kPipeRoom) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

Result<std::pair<Fd, Fd>> make_socketpair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno(errno, "socketpair");
  return std::pair{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

HelperClient::HelperClient(std::string kind, Command command, HelperLimits limits)
    : kind_(std::move(kind)), command_(std::move(command)), limits_(limits) {}

HelperClient::~HelperClient() {
  if (!connection_) return;
  connection_->stream.close();
  static_cast<void>(connection_->child.wait_until(mono_now() + limits_.kill_patience));
}

HelperResult HelperClient::call(std::string_view method, std::string_view params, MonoTime deadline) {
  std::unique_lock lock(mutex_);
  ++stats_.calls;
  // One caller tests whether the helper answers again; the others do not wait for it.
  if (is_busy_ && is_silent_) {
    ++stats_.failures;
    return tl::unexpected(failure(HelperFailure::timed_out, Errc::timed_out, "has stopped answering"));
  }
  if (!free_.wait_until(lock, deadline, [this] { return !is_busy_; })) {
    ++stats_.failures;
    return tl::unexpected(failure(HelperFailure::timed_out, Errc::timed_out, "busy with another request"));
  }
  if (mono_now() >= deadline) {
    ++stats_.failures;
    return tl::unexpected(
        failure(HelperFailure::timed_out, Errc::timed_out, "no time left before the deadline"));
  }
  if (const auto ready = make_ready(); !ready) {
    ++stats_.failures;
    return tl::unexpected(ready.error());
  }
  is_busy_ = true;
  lock.unlock();
  HelperResult result = connection_->stream.exchange(method, params, deadline);
  if (!result && result.error().failure == HelperFailure::crashed) result.error() = death();
  const bool is_usable = result || result.error().failure == HelperFailure::refused;
  if (!is_usable) {
    connection_->child.send_signal(SIGKILL);
    static_cast<void>(connection_->child.wait_until(mono_now() + limits_.kill_patience));
  }
  log_stderr(!is_usable);
  lock.lock();
  if (!is_usable) result.error().stuck_pid = retire();
  note(result);
  is_busy_ = false;
  lock.unlock();
  free_.notify_one();
  return result;
}

void HelperClient::rest() {
  std::unique_lock lock(mutex_);
  if (is_busy_ || !connection_) return;
  is_busy_ = true;
  lock.unlock();
  connection_->stream.close();
  if (!connection_->child.wait_until(mono_now() + limits_.kill_patience)) {
    connection_->child.send_signal(SIGKILL);
    static_cast<void>(connection_->child.wait_until(mono_now() + limits_.kill_patience));
  }
  log_stderr(true);
  lock.lock();
  static_cast<void>(retire());
  is_busy_ = false;
  lock.unlock();
  free_.notify_one();
}

HelperStats HelperClient::stats() {
  const std::lock_guard lock(mutex_);
  count_stuck();
  stats_.is_alive = connection_ != nullptr;
  return stats_;
}

bool HelperClient::is_stuck(pid_t pid) {
  const std::lock_guard lock(mutex_);
  count_stuck();
  return std::any_of(stuck_.begin(), stuck_.end(), [&](const Child& child) { return child.pid() == pid; });
}

// Puts a running helper into connection_.
tl::expected<void, HelperError> HelperClient::make_ready() {
  count_stuck();
  // A helper that died between two calls is not a failure.
  if (connection_ && connection_->child.wait_until(MonoTime{})) {
    log_stderr(true);
    connection_.reset();
  }
  if (connection_) return {};
  if (stats_.stuck >= limits_.max_stuck)
    return tl::unexpected(failure(HelperFailure::exhausted, Errc::exhausted,
                                  "helpers that hang in the kernel: " + std::to_string(stats_.stuck)));
  if (mono_now() < not_before_)
    return tl::unexpected(
        failure(HelperFailure::crashed, Errc::unavailable,
                "crashed " + std::to_string(crashes_) + " times in a row, not restarted yet"));
  auto pair = make_socketpair();
  if (!pair) return tl::unexpected(failure(HelperFailure::not_started, Errc::unavailable, pair.error().what));
  auto errors = make_pipe();
  if (!errors)
    return tl::unexpected(failure(HelperFailure::not_started, Errc::unavailable, errors.error().what));
  auto child =
      Child::start(command_, {.output = -1, .errors = errors->write.get(), .extra = pair->second.get()});
  if (!child)
    return tl::unexpected(failure(HelperFailure::not_started, Errc::unavailable, child.error().what));
  connection_ = std::make_unique<Connection>(
      Connection{std::move(*child), {kind_ + " helper", std::move(pair->first)}, std::move(errors->read)});
  ++stats_.starts;
  return {};
}

HelperError HelperClient::death() {
  const auto status = connection_->child.wait_until(mono_now() + kExitPatience);
  return failure(HelperFailure::crashed, Errc::unavailable,
                 status ? "ended with " + to_string(*status) : "closed its socket");
}

void HelperClient::log_stderr(bool is_over) {
  const MonoTime now = mono_now();
  auto lines = stderr_lines_.take(read_pipe(connection_->errors.get()), now);
  if (is_over) std::ranges::move(stderr_lines_.finish(now), std::back_inserter(lines));
  for (std::string& line : lines)
    logging::log_warning("a helper writes", {{"helper", kind_}, {"line", std::move(line)}});
}

HelperError HelperClient::failure(HelperFailure kind, Errc code, const std::string& what) const {
  return {.failure = kind, .error = {.code = code, .what = kind_ + " helper: " + what}};
}

// Removes the killed helper from connection_; returns its process id if it hangs in the kernel, otherwise -1.
pid_t HelperClient::retire() {
  pid_t stuck = -1;
  if (!connection_->child.wait_until(MonoTime{})) {
    stuck = connection_->child.pid();
    stuck_.push_back(std::move(connection_->child));
  }
  connection_.reset();
  count_stuck();
  return stuck;
}

void HelperClient::note(const HelperResult& result) {
  const bool is_answer = result || result.error().failure == HelperFailure::refused;
  is_silent_ = !is_answer && result.error().failure == HelperFailure::timed_out;
  if (!is_answer) ++stats_.failures;
  if (is_answer || result.error().failure == HelperFailure::timed_out) {
    crashes_ = 0;
    return;
  }
  ++crashes_;
  if (crashes_ < 2) return;
  const Duration pause = limits_.first_backoff * (1 << std::min(crashes_ - 2, 20));
  not_before_ = mono_now() + std::min(pause, limits_.last_backoff);
}

void HelperClient::count_stuck() {
  std::erase_if(stuck_, [](Child& child) { return child.wait_until(MonoTime{}).has_value(); });
  stats_.stuck = static_cast<int>(stuck_.size());
}

Command helper_command(const std::string& kind, const std::vector<std::string>& arguments,
                       const std::vector<std::string>& extra_environment) {
  Command command{
      .program = "/proc/self/exe", .arguments = {"helper", kind}, .environment = extra_environment};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  // The first entry of a name takes effect.
  const auto own = own_environment();
  command.environment.insert(command.environment.end(), own.begin(), own.end());
  return command;
}

}  // namespace autopilot::host
