// SPDX-License-Identifier: Apache-2.0
#include "host/nccl_ras/ras_helper.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <iostream>
#include <limits>
#include <sched.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "host/files/fd.hpp"
#include "host/helpers/helper_server.hpp"
#include "host/helpers/message.hpp"
#include "host/nccl_ras/ras_answer.hpp"
#include "host/process/own_process.hpp"
#include "host/process/process_handle.hpp"
#include "host/process_helper/process_helper.hpp"

namespace autopilot::host {
namespace {

namespace json = boost::json;

constexpr int kExitUsage = 64;
// JSON makes a text at most six times as long.
constexpr std::size_t kPiece = std::size_t{128} << 10;
static_assert(kPiece * 6 + 1024 < kMaxFrame);
constexpr std::size_t kMaxStuck = 2;
constexpr auto kKillPatience = std::chrono::milliseconds{200};
constexpr std::array<std::string_view, 3> kHosts{"localhost", "127.0.0.1", "::1"};  // by RasHost

Error malformed_message(const std::string& what) {
  return {.code = Errc::malformed, .what = "ras helper: " + what};
}

Result<std::int64_t> number_in(std::string_view text, std::string_view name, std::int64_t lowest,
                               std::int64_t highest) {
  json::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  const json::object* const object = error ? nullptr : value.if_object();
  const json::value* const member = object == nullptr ? nullptr : object->if_contains(name);
  if (member == nullptr || !member->is_int64() || member->get_int64() < lowest ||
      member->get_int64() > highest)
    return fail(malformed_message("missing or invalid member " + std::string(name)));
  return member->get_int64();
}

}  // namespace

std::string encode_ras_target(const RasTarget& target) {
  return json::serialize(json::object{{"pid", target.pid},
                                      {"startedTicks", static_cast<std::int64_t>(target.started_ticks)},
                                      {"host", kHosts.at(static_cast<std::size_t>(target.address.host))},
                                      {"port", target.address.port}});
}

Result<RasTarget> parse_ras_target(std::string_view params) {
  constexpr std::int64_t kMaxPid = std::numeric_limits<std::int32_t>::max();
  RasTarget target;
  target.pid = TRY(number_in(params, "pid", 1, kMaxPid));
  target.started_ticks = static_cast<std::uint64_t>(
      TRY(number_in(params, "startedTicks", 0, std::numeric_limits<std::int64_t>::max())));
  target.address.port = static_cast<std::uint16_t>(
      TRY(number_in(params, "port", 1, std::numeric_limits<std::uint16_t>::max())));
  const json::value value = json::parse({params.data(), params.size()});
  const json::value* const host = value.get_object().if_contains("host");
  const auto found = host == nullptr || !host->is_string()
                         ? kHosts.end()
                         : std::ranges::find(kHosts, std::string_view(host->get_string()));
  if (found == kHosts.end()) return fail(malformed_message("the host is not a loopback address"));
  target.address.host = static_cast<RasHost>(found - kHosts.begin());
  return target;
}

namespace {

// ---- the child of one request

void write_to(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

Result<std::string> query_inside(const Fd& name_space, const RasAddress& address, MonoTime deadline) {
  if (::setns(name_space.get(), CLONE_NEWNET) != 0) {
    if (errno == EPERM)
      return fail(Errc::denied,
                  "enter the network namespace of the job: needs CAP_SYS_ADMIN; run "
                  "`autopilot helper ras` with it");
    return fail_errno(errno, "enter the network namespace of the job");
  }
  return query_ras(address, deadline);
}

// The result as text: '+' and the answer, or '-', the code, a line end and the text of the error.
[[noreturn]] void run_child(int out, const Fd& name_space, const RasAddress& address, MonoTime deadline) {
  const auto answer = query_inside(name_space, address, deadline);
  if (answer) {
    write_to(out, "+");
    write_to(out, *answer);
  } else {
    write_to(out, "-" + std::string(to_string(answer.error().code)) + "\n" + answer.error().what);
  }
  ::_exit(0);
}

Result<std::string> result_in(std::string text) {
  if (text.starts_with('+')) return text.substr(1);
  const std::size_t end = text.find('\n');
  const auto code =
      text.starts_with('-') && end != std::string::npos ? parse_errc(text.substr(1, end - 1)) : std::nullopt;
  if (!code) return fail(Errc::unavailable, "NCCL RAS: the process that asked has ended without an answer");
  return fail(*code, text.substr(end + 1));
}

// Everything until the end of the stream, or nothing at the deadline.
std::optional<std::string> read_pipe_until(int fd, std::size_t limit, MonoTime deadline) {
  std::string text;
  std::array<char, std::size_t{16} * 1024> buffer;
  while (text.size() <= limit) {
    if (!poll_until(fd, POLLIN, deadline)) return std::nullopt;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

bool has_ended(pid_t child) {
  return ::waitpid(child, nullptr, WNOHANG) != 0;
}

// Answers the requests of one agent.
class RasServer {
 public:
  Result<std::string> ask(std::string_view params, MonoTime deadline) {
    answer_.clear();
    const RasTarget target = TRY(parse_ras_target(params));
    // Leaves time to send the answer before the caller's deadline.
    answer_ = to_utf8(TRY(query(target, deadline - (deadline - mono_now()) / 8)));
    return "{\"bytes\":" + std::to_string(answer_.size()) + "}";
  }

  Result<std::string> piece(std::string_view params) const {
    const auto from = TRY(number_in(params, "from", 0, static_cast<std::int64_t>(answer_.size())));
    const std::string_view rest = std::string_view(answer_).substr(static_cast<std::size_t>(from));
    return make_text_message(cut_utf8(rest, kPiece));
  }

 private:
  Result<std::string> query(const RasTarget& target, MonoTime deadline) {
    std::erase_if(stuck_, has_ended);
    if (stuck_.size() >= kMaxStuck)
      return fail(Errc::exhausted, "NCCL RAS: " + std::to_string(stuck_.size()) +
                                       " requests hang in the kernel; no more are made");
    const auto process = TRY(ProcessHandle::open(target.pid, target.started_ticks));
    auto name_space = process.network_namespace();
    if (!name_space && name_space.error().code == Errc::denied)
      return fail(Errc::denied,
                  name_space.error().what + ": needs CAP_SYS_PTRACE; run `autopilot helper ras` with it");
    if (!name_space) return fail(std::move(name_space).error());
    return query_in_child(*name_space, target.address, deadline);
  }

  Result<std::string> query_in_child(const Fd& name_space, const RasAddress& address, MonoTime deadline) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno(errno, "pipe");
    const Fd out(ends[0]);
    Fd in(ends[1]);
    const pid_t child = ::fork();
    if (child < 0) return fail_errno(errno, "fork");
    if (child == 0) run_child(in.get(), name_space, address, deadline);
    in.reset();
    auto text = read_pipe_until(out.get(), kMaxRasBytes + 1, deadline + kKillPatience);
    ::kill(child, SIGKILL);
    collect(child);
    if (!text) return fail(Errc::timed_out, "NCCL RAS: no answer in time");
    return result_in(*std::move(text));
  }

  void collect(pid_t child) {
    const MonoTime until = mono_now() + kKillPatience;
    while (!has_ended(child)) {
      if (mono_now() >= until) {
        stuck_.push_back(child);
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }

  std::string answer_;
  std::vector<pid_t> stuck_;
};

int serve_ras(int fd) {
  RasServer server;
  HelperMethods methods = process_methods();
  methods.emplace(kAskRas, [&server](std::string_view params, MonoTime deadline) {
    return server.ask(params, deadline);
  });
  methods.emplace(kNextRasPiece,
                  [&server](std::string_view params, MonoTime) { return server.piece(params); });
  return serve(fd, methods);
}

}  // namespace

int run_ras_helper(int fd, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return serve_ras(fd);
  auto listening = parse_listening("autopilot helper ras", arguments);
  if (!listening) {
    std::cerr << "autopilot helper ras: expected [--listen /PATH [--allow-uid UID]...], at most 16 users\n";
    return kExitUsage;
  }
  listening->capabilities = kEnterNamespaces;
  return listen_for_agents(*listening, serve_ras);
}

// ---- the agent

RasAccess::RasAccess(Command helper, std::string socket)
    : socket_(std::move(socket)), child_("ras", std::move(helper)) {}

Result<std::string> RasAccess::ask(const RasTarget& target, MonoTime deadline) {
  const auto process = TRY(ProcessHandle::open(target.pid, target.started_ticks));
  if (process.shares_own_network().value_or(false)) return query_ras(target.address, deadline);
  return ask_helper(target, deadline);
}

Result<std::string> RasAccess::ask_helper(const RasTarget& target, MonoTime deadline) {
  const std::unique_lock lock(mutex_, std::chrono::steady_clock::time_point(deadline.time_since_epoch()));
  if (!lock.owns_lock()) return fail(Errc::timed_out, "ras helper: busy with another request");
  auto size = exchange(kAskRas, encode_ras_target(target), deadline);
  if (!size) return fail(error_of_subject(std::move(size).error()));
  const auto bytes = static_cast<std::size_t>(
      TRY(number_in(*size, "bytes", 0, static_cast<std::int64_t>(kMaxRasBytes * 3))));
  std::string answer;
  while (answer.size() < bytes) {
    auto piece = exchange(kNextRasPiece, "{\"from\":" + std::to_string(answer.size()) + "}", deadline);
    if (!piece) return fail(error_of_subject(std::move(piece).error()));
    const auto text = text_in(*piece);
    if (!text || text->empty() || text->size() > kPiece)
      return fail(malformed_message("a piece of the answer is missing, or is too long"));
    answer += *text;
  }
  return answer;
}

HelperResult RasAccess::exchange(std::string_view method, const std::string& params, MonoTime deadline) {
  if (socket_.empty()) return child_.call(method, params, deadline);
  const bool is_old = stream_ != nullptr;
  if (!is_old) {
    auto socket = connect_to_helper(socket_);
    if (!socket) return tl::unexpected(HelperError{HelperFailure::refused, std::move(socket).error()});
    stream_ = std::make_unique<HelperStream>("ras helper at " + socket_, *std::move(socket));
  }
  auto result = stream_->exchange(method, params, deadline);
  if (result || result.error().failure == HelperFailure::refused) return result;
  stream_.reset();
  // The helper may have been restarted since the last request.
  if (is_old && method == kAskRas && result.error().failure == HelperFailure::crashed)
    return exchange(method, params, deadline);
  return result;
}

}  // namespace autopilot::host
