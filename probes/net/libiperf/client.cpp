// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>

#include "probes/net/iperf/client_output.hpp"
#include "probes/net/libiperf/calls.hpp"
#include "probes/net/libiperf/libiperf.hpp"
#include "probes/net/libiperf/session.hpp"

namespace autopilot::probes::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{3};  // to retry the peer, and to wait at the start line
constexpr std::chrono::milliseconds kConnectPause{50};

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
  std::string said = try_once(test);
  while (may_be_a_pause(said) && Clock::now() < end) {
    std::this_thread::sleep_for(kConnectPause);
    said = try_once(test);
  }
  write_all(output, said);
}

}  // namespace autopilot::probes::net
