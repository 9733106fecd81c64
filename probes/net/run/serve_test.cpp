// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/serve.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iperf_api.h>
#include <string>
#include <unistd.h>

#include "probes/net/iperf/program.hpp"
#include "probes/net/run/options.hpp"

namespace autopilot::probes::net {
namespace {

using testing::HasSubstr;

void say(int output, const std::string& text) {
  EXPECT_EQ(::write(output, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

[[noreturn]] void hang() {
  for (;;)
    ::pause();
}

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome outcome_of(ServeOptions options, const Server& server) {
  options.bind = *parse_address("127.0.0.1");
  Outcome outcome;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  outcome.code = serve(options, server);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

// Listens on odd ports only.
void listen_on_odd_ports(const ServerTest& test, int output) {
  if (test.port % 2 == 0) return say(output, line_of_failure(IELISTEN, EADDRINUSE));
  say(output, line_of_listening() + line_of_test());
}

TEST(Serve, listening_and_failed_servers_are_reported) {
  const Outcome outcome =
      outcome_of({.ports = {.first = 1001, .last = {}}, .count = 3, .is_once = true}, listen_on_odd_ports);
  EXPECT_THAT(outcome.out, HasSubstr(R"("ports":[1001,1003],"failed":[{"port":1002,"reason":"port_taken")"));
  EXPECT_EQ(outcome.code, exit_not_measured);
}

TEST(Serve, of_a_range_the_next_port_is_tried) {
  const Outcome outcome =
      outcome_of({.ports = {.first = 1000, .last = 1003}, .count = 2, .is_once = true}, listen_on_odd_ports);
  EXPECT_THAT(outcome.out, HasSubstr(R"("failed":[])"));
  EXPECT_EQ(outcome.code, exit_done);
}

TEST(Serve, a_range_that_is_full_has_a_reason) {
  const Outcome outcome =
      outcome_of({.ports = {.first = 1000, .last = 1000}, .count = 1}, listen_on_odd_ports);
  EXPECT_THAT(outcome.out, HasSubstr(R"("ports":[],"failed":[{"port":1000,"reason":"port_taken")"));
  EXPECT_EQ(outcome.code, exit_not_measured);
}

TEST(Serve, a_server_that_keeps_crashing_is_abandoned) {
  const Outcome outcome =
      outcome_of({.ports = {.first = 1001, .last = {}}}, [](const ServerTest&, int output) {
        say(output, line_of_listening());
        ::raise(SIGKILL);
      });
  EXPECT_EQ(outcome.code, exit_not_measured);
  EXPECT_THAT(outcome.err, HasSubstr("ended repeatedly, with signal 9"));
}

TEST(Serve, it_ends_after_its_time_and_reports_the_number_of_tests) {
  const Outcome outcome =
      outcome_of({.ports = {.first = 1001, .last = {}}, .seconds = 1}, [](const ServerTest&, int output) {
        say(output, line_of_listening() + line_of_test() + line_of_test());
        hang();
      });
  EXPECT_EQ(outcome.code, exit_done);
  EXPECT_THAT(outcome.err, HasSubstr("127.0.0.1 port 1001: finished tests: 2"));
}

TEST(Serve, a_signal_ends_it) {
  const Outcome outcome =
      outcome_of({.ports = {.first = 1001, .last = {}}}, [](const ServerTest&, int output) {
        say(output, line_of_listening());
        ::kill(::getppid(), SIGINT);
        hang();
      });
  EXPECT_EQ(outcome.code, exit_signal + SIGINT);
}

}  // namespace
}  // namespace autopilot::probes::net
