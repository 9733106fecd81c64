// SPDX-License-Identifier: Apache-2.0
#include "probes/net/libiperf/libiperf.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <getopt.h>
#include <iperf_api.h>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "probes/net/iperf/program.hpp"
#include "probes/net/libiperf/calls.hpp"

namespace autopilot::probes::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{3};  // to retry the peer, and to wait at the start line
constexpr std::chrono::milliseconds kConnectPause{50};
constexpr std::chrono::milliseconds kPause{20};
// Another program can use the port between two tests for a while.
constexpr int kMostFailures = 100;

// A libiperf test, configured by the arguments of the program iperf3.
class Session {
 public:
  explicit Session(std::vector<std::string> arguments);
  // Null if libiperf rejects the arguments; i_errno has the reason.
  [[nodiscard]] iperf_test* test() const { return is_ready_ ? test_.get() : nullptr; }
  // The report in JSON; empty if missing.
  [[nodiscard]] std::string json() const;

 private:
  struct Free {
    void operator()(iperf_test* test) const { ::iperf_free_test(test); }
  };

  std::vector<std::string> arguments_;  // libiperf keeps pointers into some of them
  std::unique_ptr<iperf_test, Free> test_;
  bool is_ready_ = false;
};

Session::Session(std::vector<std::string> arguments)
    : arguments_(std::move(arguments)), test_(::iperf_new_test()) {
  if (!test_ || ::iperf_defaults(test_.get()) != 0) return;
  std::vector<char*> words;
  for (std::string& argument : arguments_)
    words.push_back(argument.data());
  words.push_back(nullptr);
  // Resets the parser of the C library for a new list.
  optind = 0;
  i_errno = IENONE;
  is_ready_ = ::iperf_parse_arguments(test_.get(), static_cast<int>(words.size()) - 1, words.data()) == 0;
}

std::string Session::json() const {
  const char* text = test_ ? ::iperf_get_test_json_output_string(test_.get()) : nullptr;
  return text == nullptr ? std::string() : std::string(text);
}

// libiperf maps a temporary file for each stream. Places it in memory if possible, because a container can
// lack a writable folder.
void use_scratch_in_memory() {
  constexpr const char* kMemory = "/dev/shm";
  if (std::getenv("TMPDIR") == nullptr && ::access(kMemory, W_OK | X_OK) == 0) ::setenv("TMPDIR", kMemory, 1);
}

// The output of one attempt.
std::string try_once(const ClientTest& test) {
  const Session session(client_arguments(test));
  if (session.test() == nullptr) return client_output(i_errno, 0, "");
  forget_errors();
  // The return value is not needed: with JSON, a failed test is one more report.
  (void)::iperf_run_client(session.test());
  return client_output(i_errno, first_errno(), session.json());
}

}  // namespace

void run_client(const ClientTest& test, StartLine& line, int output) {
  use_scratch_in_memory();
  before_streams([&line] { line.wait(kPatience); });
  const Clock::time_point end = Clock::now() + kPatience;
  std::string report = try_once(test);
  while (may_be_a_pause(report) && Clock::now() < end) {
    std::this_thread::sleep_for(kConnectPause);
    report = try_once(test);
  }
  write_all(output, report);
}

void run_server(const ServerTest& test, int output) {
  use_scratch_in_memory();
  listen_only_for(test.allowed);
  announce_listening_on(output);
  int failures = 0;
  while (true) {
    const Session session(server_arguments(test));
    errno = 0;
    const int done = session.test() == nullptr ? -1 : ::iperf_run_server(session.test());
    const int errno_value = errno;
    const bool listening_failed = session.test() == nullptr || i_errno == IELISTEN;
    if (done >= 0) {
      write_all(output, line_of_test());
      if (test.is_once) return;
      failures = 0;
      continue;
    }
    failures = listening_failed ? failures + 1 : 0;
    if (listening_failed && (!has_listened() || failures >= kMostFailures)) {
      write_all(output, line_of_failure(i_errno, errno_value));
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace autopilot::probes::net
