// SPDX-License-Identifier: Apache-2.0
#include "host/helpers/helper_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <sys/socket.h>

#include "host/files/fd.hpp"
#include "telemetry/log.hpp"

namespace autopilot::host {
namespace {

// A helper that closed its socket is about to end; its exit code says why.
constexpr auto kLastWords = std::chrono::seconds{1};

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
  // One caller finds out whether it answers again; the others would only wait behind it.
  if (is_busy_ && is_silent_) {
    ++stats_.failures;
    return tl::unexpected(failure(HelperFailure::timed_out, Errc::timed_out, "has stopped answering"));
  }
  if (!free_.wait_until(lock, deadline, [this] { return !is_busy_; })) {
    ++stats_.failures;
    return tl::unexpected(failure(HelperFailure::timed_out, Errc::timed_out, "busy with another question"));
  }
  if (mono_now() >= deadline) {
    ++stats_.failures;
    return tl::unexpected(failure(HelperFailure::timed_out, Errc::timed_out, "no time left to ask"));
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
  log_words(!is_usable);
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
  log_words(true);
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

// A running helper with an empty stream in connection_.
tl::expected<void, HelperError> HelperClient::make_ready() {
  count_stuck();
  // One that died between two questions failed nobody.
  if (connection_ && connection_->child.wait_until(MonoTime{})) {
    log_words(true);
    connection_.reset();
  }
  if (connection_) return {};
  if (stats_.stuck >= limits_.max_stuck)
    return tl::unexpected(failure(HelperFailure::exhausted, Errc::exhausted,
                                  std::to_string(stats_.stuck) + " of them hang in the kernel"));
  if (mono_now() < not_before_)
    return tl::unexpected(
        failure(HelperFailure::crashed, Errc::unavailable,
                "crashed " + std::to_string(crashes_) + " times in a row, not started again yet"));
  auto pair = make_socketpair();
  if (!pair) return tl::unexpected(failure(HelperFailure::not_started, Errc::unavailable, pair.error().what));
  auto words = make_word_pipe();
  if (!words)
    return tl::unexpected(failure(HelperFailure::not_started, Errc::unavailable, words.error().what));
  auto child =
      Child::start(command_, {.output = -1, .errors = words->write.get(), .extra = pair->second.get()});
  if (!child)
    return tl::unexpected(failure(HelperFailure::not_started, Errc::unavailable, child.error().what));
  connection_ = std::make_unique<Connection>(
      Connection{std::move(*child), {kind_ + " helper", std::move(pair->first)}, std::move(words->read)});
  ++stats_.starts;
  return {};
}

HelperError HelperClient::death() {
  const auto status = connection_->child.wait_until(mono_now() + kLastWords);
  return failure(HelperFailure::crashed, Errc::unavailable,
                 status ? "ended with " + to_string(*status) : "closed its socket");
}

void HelperClient::log_words(bool is_over) {
  const MonoTime now = mono_now();
  auto lines = words_.take(read_words(connection_->words.get()), now);
  if (is_over) std::ranges::move(words_.finish(now), std::back_inserter(lines));
  for (std::string& line : lines)
    telemetry::log_warning("a helper writes", {{"helper", kind_}, {"line", std::move(line)}});
}

HelperError HelperClient::failure(HelperFailure kind, Errc code, const std::string& what) const {
  return {.failure = kind, .error = {.code = code, .what = kind_ + " helper: " + what}};
}

// The killed helper: gone, or one more that hangs in the kernel, by its number.
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
  // The first of equal names counts.
  const auto own = own_environment();
  command.environment.insert(command.environment.end(), own.begin(), own.end());
  return command;
}

}  // namespace autopilot::host
