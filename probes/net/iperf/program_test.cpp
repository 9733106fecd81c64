// SPDX-License-Identifier: Apache-2.0
#include "probes/net/iperf/program.hpp"

#include <cerrno>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iperf_api.h>

namespace autopilot::probes::net {
namespace {

using testing::Contains;
using testing::Not;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += " " + word;
  return text + " ";
}

TEST(ClientArguments, contain_the_options_of_iperf3) {
  const std::string text = joined(client_arguments({.to = "10.0.0.2",
                                                    .port = 5202,
                                                    .source = "10.0.0.1",
                                                    .interface = "ib0",
                                                    .streams = 4,
                                                    .seconds = 10,
                                                    .omit_seconds = 2,
                                                    .sample_seconds = 0.5,
                                                    .stream_bits_per_second = 100'000'000'000}));
  for (const char* part :
       {" --client 10.0.0.2 ", " --port 5202 ", " --bind 10.0.0.1 ", " --bind-dev ib0 ", " --parallel 4 ",
        " --time 10 ", " --omit 2 ", " --interval 0.500000 ", " --bitrate 100000000000 ", " --json "})
    EXPECT_THAT(text, testing::HasSubstr(part));
}

TEST(ClientArguments, the_flow_has_one_direction_or_both) {
  EXPECT_THAT(client_arguments({.flow = Flow::from_peer}), Contains("--reverse"));
  EXPECT_THAT(client_arguments({.flow = Flow::both}), Contains("--bidir"));
  EXPECT_THAT(client_arguments({}),
              Not(Contains(testing::AnyOf("--reverse", "--bidir", "--rcv-timeout", "--bitrate"))));
}

TEST(ServerArguments, contain_address_and_port) {
  const std::string text = joined(server_arguments({.address = "fe80::1%ib0", .port = 5201, .allowed = {}}));
  for (const char* part : {" --server ", " --bind fe80::1%ib0 ", " --port 5201 "})
    EXPECT_THAT(text, testing::HasSubstr(part));
}

using testing::HasSubstr;

Failure failure_in(const std::string& output) {
  const auto read = read_client_output(output, "10.0.0.2 port 5201");
  const Failure* failure = std::get_if<Failure>(&read);
  return failure == nullptr ? Failure{Reason::internal, "no failure"} : *failure;
}

TEST(ClientOutput, the_message_of_libiperf_has_the_error_of_the_kernel) {
  const Failure failure = failure_in(client_output(
      IECONNECT, 0, R"({"start":{},"error":"unable to connect to server: Connection refused"})"));
  EXPECT_EQ(failure.reason, Reason::refused);
  EXPECT_THAT(failure.text,
              HasSubstr("10.0.0.2 port 5201: connection refused: no program listens on the port (unable"));
}

TEST(ClientOutput, the_call_that_failed_first_counts_and_not_what_followed) {
  const std::string words = R"({"error":"unable to send control message: Broken pipe"})";
  EXPECT_EQ(failure_in(client_output(IESENDMESSAGE, ETIMEDOUT, words)).reason, Reason::timed_out);
  EXPECT_EQ(failure_in(client_output(IESENDMESSAGE, 0, words)).reason, Reason::peer_vanished);
}

TEST(ClientOutput, an_error_counts_though_no_report_came) {
  EXPECT_EQ(failure_in(client_output(IEACCESSDENIED, 0, "")).reason, Reason::busy);
}

TEST(ClientOutput, empty_or_truncated_output_is_not_a_measurement) {
  EXPECT_EQ(failure_in("").reason, Reason::internal);
  EXPECT_EQ(failure_in("0").reason, Reason::internal);
  EXPECT_EQ(failure_in("0 0").reason, Reason::internal);
  EXPECT_EQ(failure_in("0\n{}").reason, Reason::internal);
  EXPECT_EQ(failure_in("zero 0\n{}").reason, Reason::internal);
  EXPECT_EQ(failure_in("0 0\n").reason, Reason::garbage);
  EXPECT_EQ(failure_in("0 0\n{\"start\":").reason, Reason::garbage);
  EXPECT_EQ(failure_in("0 0\n[]").reason, Reason::garbage);
}

TEST(ClientOutput, a_peer_that_resets_before_the_test_is_retried) {
  const auto is_pause = [](int code, const std::string& streams, const std::string& words) {
    return may_be_a_pause(
        client_output(code, 0, R"({"start":{"connected":[)" + streams + R"(]},"error":")" + words + R"("})"));
  };
  EXPECT_TRUE(is_pause(IECONNECT, "", "unable to connect to server: Connection refused"));
  EXPECT_TRUE(is_pause(IECONNECT, "", "unable to connect to server: Connection reset by peer"));
  EXPECT_TRUE(is_pause(IESENDCOOKIE, "", "unable to send cookie to server: Broken pipe"));
  EXPECT_TRUE(may_be_a_pause(client_output(IEACCESSDENIED, 0, "")));
  EXPECT_FALSE(is_pause(IECTRLCLOSE, R"({"socket":5})", "control socket has closed unexpectedly"));
  EXPECT_FALSE(is_pause(IECONNECT, "", "unable to connect to server: No route to host"));
  EXPECT_FALSE(may_be_a_pause(client_output(0, 0, "{")));
  EXPECT_FALSE(may_be_a_pause(""));
}

TEST(ServerOutput, reports_listening_and_counts_tests) {
  const ServerState state =
      read_server_output(line_of_listening() + line_of_test() + line_of_listening() + line_of_test());
  EXPECT_TRUE(state.is_listening);
  EXPECT_EQ(state.tests, 2U);
  EXPECT_FALSE(state.failure);
}

TEST(ServerOutput, reports_why_listening_failed) {
  const ServerState state = read_server_output(line_of_failure(IELISTEN, EADDRINUSE));
  ASSERT_TRUE(state.failure);
  EXPECT_EQ(failure_of(*state.failure, "port 5201").reason, Reason::port_taken);
}

TEST(ServerOutput, truncated_and_other_lines_are_ignored) {
  for (const std::string text :
       {"", "listening", "listen\n", "failed 1\n", "failed a b\n", "\n\n", "tested twice\n"}) {
    const ServerState state = read_server_output(text);
    EXPECT_FALSE(state.is_listening) << text;
    EXPECT_EQ(state.tests, 0U) << text;
    EXPECT_FALSE(state.failure) << text;
  }
}

}  // namespace

}  // namespace autopilot::probes::net
