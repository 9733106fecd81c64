// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/nccl/run_all_reduce.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <ifaddrs.h>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <thread>
#include <unistd.h>

#include "probes/gpu/nccl/all_reduce_worker.hpp"
#include "probes/gpu/run/patience.hpp"
#include "probes/gpu/run/report.hpp"

namespace autopilot::probes::gpu {
namespace {

// NCCL gives up after that many refused connections, each a tenth of a second longer apart: five seconds. Its
// default is a minute, in which a missing rank cannot be distinguished from a late one.
constexpr const char* kRefusals = "10";

// The address in the kernel's format; nullopt if it is not an IP address.
std::optional<std::string> text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET)
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  else if (address->sa_family == AF_INET6)
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  else
    return std::nullopt;
  if (inet_ntop(address->sa_family, bytes, text.data(), text.size()) == nullptr) return std::nullopt;
  return text.data();
}

// The same for text from the user.
std::optional<std::string> canonical(const std::string& address) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  if (inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1)
    return text_of(reinterpret_cast<const sockaddr*>(&v4));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  if (inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1)
    return text_of(reinterpret_cast<const sockaddr*>(&v6));
  return std::nullopt;
}

bool is_ipv6(const std::string& address) {
  return address.find(':') != std::string::npos;
}

void set_by_default(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 0);
}

}  // namespace

bool is_address(const std::string& text) {
  return canonical(text).has_value();
}

Result<std::string> interface_with(const std::string& address) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return fail_errno(errno, "getifaddrs");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  const auto wanted = canonical(address);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next)
    if (wanted && text_of(one->ifa_addr) == wanted) return std::string(one->ifa_name);
  return fail(Errc::not_found, "--bind: no interface of this machine has the address " + address);
}

std::optional<std::string> take_variable(const char* name) {
  char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  std::string value = text;
  ::explicit_bzero(text, value.size());
  ::unsetenv(name);
  return value;
}

Status prepare_environment(const std::optional<std::string>& bind) {
  if (bind) {
    set_by_default("NCCL_SOCKET_IFNAME", "=" + TRY(interface_with(*bind)));
    set_by_default("NCCL_SOCKET_FAMILY", is_ipv6(*bind) ? "AF_INET6" : "AF_INET");
  }
  // Standard output is only for our reports.
  set_by_default("NCCL_DEBUG_FILE", "/dev/stderr");
  // Opens no unnecessary port.
  set_by_default("NCCL_RAS_ENABLE", "0");
  set_by_default("NCCL_SOCKET_RETRY_CNT", kRefusals);
  return {};
}

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// For connections, uncounted iterations, the last batch and the comparison of the sums. Eight iterations of a
// second each fit in; a network that takes longer for 1 MiB is not suitable for training.
constexpr double kMarginSeconds = 10;

// Standard output, protected from libraries that write there as well: their output goes to standard error.
class Lines {
 public:
  Lines() : file_(::fdopen(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w")) {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() {
    if (file_ != nullptr) static_cast<void>(std::fclose(file_));
  }

  // Writes immediately; ignores a closed reader.
  void write(const std::string& line) {
    if (file_ == nullptr) return;
    std::fprintf(file_, "%s\n", line.c_str());
    std::fflush(file_);
  }

 private:
  std::FILE* file_;
};

// Detects a measurement that exceeds the agreed time. Called repeatedly by one thread.
class Deadline {
 public:
  Deadline(const AllReduceSlot& slot, double seconds) : slot_(slot), seconds_(seconds) {}

  [[nodiscard]] bool is_over() {
    if (slot_.stage != Stage::measuring) return false;
    if (!began_) began_ = Clock::now();
    return Seconds(Clock::now() - *began_).count() > limit();
  }
  [[nodiscard]] Failure failure() const {
    return {Reason::peer_vanished, "the all-reduce has not ended after " +
                                       std::to_string(static_cast<long>(limit())) +
                                       " s: a rank or its network has stopped"};
  }

 private:
  [[nodiscard]] double limit() const {
    const double agreed = slot_.seconds;
    return (agreed > 0 ? agreed : seconds_) + kMarginSeconds;
  }

  const AllReduceSlot& slot_;
  double seconds_;
  std::optional<Clock::time_point> began_;
};

AllReduceReport first_report(const AllReduceOptions& options) {
  AllReduceReport report;
  report.vendor = options.vendor;
  report.address = options.bind;
  report.ranks = options.ranks;
  return report;
}

int refuse(Lines& lines, AllReduceReport report, const Error& error) {
  const Reason reason = error.code == Errc::not_found ? Reason::no_address : Reason::internal;
  report.failure = Failure{reason, error.what};
  std::fprintf(stderr, "autopilot-gpu-probe: %s\n", error.what.c_str());
  lines.write(to_json(report));
  return exit_code_of(report);
}

// The worker notices it between two calls, and frees its resources.
void stop_and_wait(AllReduceSlot& slot) {
  slot.watch.stop = true;
  const auto end = Clock::now() + kStopping;
  while (!slot.done && Clock::now() < end)
    std::this_thread::sleep_for(kPollInterval);
}

int write_report(Lines& lines, const AllReduceSlot& slot, int number) {
  const AllReduceReport report = slot.report();
  if (report.failure) std::fprintf(stderr, "autopilot-gpu-probe: %s\n", report.failure->text.c_str());
  if (slot.is_usage && number == 0) return exit_usage;
  lines.write(to_json(report));
  return number != 0 ? exit_signal + number : exit_code_of(report);
}

// Waits until it is done, a signal arrives or it hangs: returns the signal, or 0.
int wait_for(AllReduceSlot& slot, const AllReduceOptions& options) {
  Patience patience(slot.watch, options.patience_seconds);
  Deadline deadline(slot, options.seconds);
  bool hangs = false;
  bool is_late = false;
  const int number = wait_until([&] {
    hangs = patience.is_over();
    is_late = deadline.is_over();
    return slot.done || hangs || is_late;
  });
  if (slot.done) return number;
  if (number != 0)
    slot.fail({Reason::killed, "signal " + std::to_string(number) + " ended it"});
  else
    slot.fail(hangs ? failure_of_hanging(slot.stage, patience.text()) : deadline.failure());
  stop_and_wait(slot);
  return number;
}

}  // namespace

int run_all_reduce(const AllReduceOptions& options) {
  hold_ending_signals();
  // A closed connection, or a closed reader of our lines, is noticed by the write.
  std::signal(SIGPIPE, SIG_IGN);
  Lines lines;
  const AllReduceReport begun = first_report(options);
  if (const Status prepared = prepare_environment(options.bind); !prepared)
    return refuse(lines, begun, prepared.error());
  AllReduceSlot slot(begun);
  const std::function<void(const std::string&)> invite = [&lines](const std::string& line) {
    lines.write(line);
  };
  std::thread worker(run_all_reduce_worker, std::cref(options), std::cref(invite), std::ref(slot));
  const int number = wait_for(slot, options);
  const int code = write_report(lines, slot, number);
  // If a thread is blocked in a call, the destructors would destroy what it uses; the same applies to NCCL's
  // threads, which can remain if not all ranks joined. The process ends instead.
  const bool is_left = !slot.done || (slot.stage == Stage::joining && code != exit_measured);
  if (is_left) std::_Exit(code);
  worker.join();
  return code;
}

}  // namespace autopilot::probes::gpu
