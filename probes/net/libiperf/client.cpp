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

constexpr std::chrono::seconds kPatience{3};  // with the peer, and with the others at the line
constexpr std::chrono::milliseconds kConnectPause{50};

// The output of one try.
std::string try_once(const ClientTest& test) {
  const Session session(client_arguments(test));
  if (session.test() == nullptr) return client_output(i_errno, 0, "");
  forget_errors();
  // What it returns says nothing: with JSON a test that failed is one more report.
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
