// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <chrono>
#include <thread>

#include "probes/net/iperf/server_output.hpp"
#include "probes/net/libiperf/calls.hpp"
#include "probes/net/libiperf/libiperf.hpp"
#include "probes/net/libiperf/session.hpp"

namespace autopilot::probes::net {
namespace {

constexpr std::chrono::milliseconds kPause{20};
// Another program can use the port between two tests for a while.
constexpr int kMostFailures = 100;

}  // namespace

void run_server(const ServerTest& test, int output) {
  use_scratch_in_memory();
  listen_only_for(test.allowed);
  tell_of_listening(output);
  int failures = 0;
  while (true) {
    const Session session(server_arguments(test));
    errno = 0;
    const int done = session.test() == nullptr ? -1 : ::iperf_run_server(session.test());
    const int errno_value = errno;
    const bool nobody_listens = session.test() == nullptr || i_errno == IELISTEN;
    if (done >= 0) {
      write_all(output, line_of_test());
      if (test.is_once) return;
      failures = 0;
      continue;
    }
    failures = nobody_listens ? failures + 1 : 0;
    if (nobody_listens && (!has_listened() || failures >= kMostFailures)) {
      write_all(output, line_of_failure(i_errno, errno_value));
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace autopilot::probes::net
