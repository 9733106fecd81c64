// SPDX-License-Identifier: Apache-2.0
#include "probes/net/perftest/failure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const PerftestTest kTest{.tool = Tool::write_bandwidth,
                         .device = {"mlx5_0", 1},
                         .address = "10.0.0.1",
                         .to = "10.0.0.2",
                         .port = 4000};

ChildEnd code(int number) {
  return {.code = number, .signal = {}};
}

Failure failure_of(const std::string& output) {
  return failure_of_end(kTest, code(1), output);
}

std::string word(const std::string& output) {
  return std::string(to_string(failure_of(output).reason));
}

TEST(PerftestFailure, has_the_reason_of_its_words) {
  EXPECT_EQ(word("Couldn't connect to 10.0.0.2:4000\n Unable to open file descriptor for socket connection\n"
                 " Failed to exchange data between server and clients\n"),
            "refused");
  EXPECT_EQ(word("Couldn't listen to port 4000\n"), "port_taken");
  EXPECT_EQ(word("Current implementation is not compatible with versions older than 5.70\n"),
            "wrong_version");
  EXPECT_EQ(word(" Did not detect devices \n If device exists, check if driver is up\n"
                 " Unable to find the Infiniband/RoCE device\n"),
            "no_address");
  EXPECT_EQ(word("IB device mlx5_0 not found\n Unable to find the Infiniband/RoCE device\n"), "no_address");
  EXPECT_EQ(word("Couldn't allocate MR\n"), "denied");
  EXPECT_EQ(word("Failed to create QP: Cannot allocate memory\n"), "denied");
  EXPECT_EQ(word("ethernet_read_keys: Couldn't read remote address\n"), "peer_vanished");
  EXPECT_EQ(word(" Unable to exchange data\n"), "peer_vanished");
  EXPECT_EQ(word(" Failed to exchange data between server and clients\n"), "peer_vanished");
  EXPECT_EQ(word("something else\n"), "internal");
  EXPECT_EQ(word(""), "internal");
}

TEST(PerftestFailure, of_a_completion_has_its_status) {
  const std::string begin = " Completion with error at client\n Failed status ";
  EXPECT_EQ(word(begin + "12: wr_id 0 syndrom 0x81\n"), "timed_out");
  EXPECT_THAT(failure_of(begin + "10: wr_id 0 syndrom 0x88\nscnt=128, ccnt=0\n").text,
              HasSubstr("the connection broke with status 10 (Failed status 10: wr_id 0"));
  EXPECT_EQ(word(begin + "10: wr_id 0 syndrom 0x88\n"), "peer_vanished");
  EXPECT_EQ(word(begin + "129: wr_id 0\n"), "peer_vanished");
  EXPECT_EQ(word(begin), "peer_vanished");
  EXPECT_EQ(word(" Completion with error at client\n"), "peer_vanished");
}

TEST(PerftestFailure, of_how_it_ended_comes_before_its_words) {
  const std::string words = "Couldn't connect to 10.0.0.2:4000\n";
  EXPECT_EQ(failure_of_end(kTest, {.was_overdue = true, .code = {}, .signal = 9}, words).reason,
            Reason::no_end);
  EXPECT_EQ(failure_of_end(kTest, {.said_too_much = true, .code = {}, .signal = 9}, "").reason,
            Reason::garbage);
  EXPECT_EQ(failure_of_end(kTest, {.code = {}, .signal = 11}, words).reason, Reason::killed);
  EXPECT_THAT(failure_of_end(kTest, code(3), "").text, HasSubstr("ended with code 3"));
}

TEST(PerftestFailure, names_the_program_the_place_and_the_last_words) {
  EXPECT_EQ(failure_of("Couldn't connect to 10.0.0.2:4000\n").text,
            "ib_write_bw to 10.0.0.2 port 4000: connection refused: no program listens on the port (Couldn't "
            "connect to 10.0.0.2:4000)");
  EXPECT_EQ(failure_of("a\nfirst\nsecond\n ---\n Mtu : 1024[B]\nthird\n local address: LID 1\n").text,
            "ib_write_bw to 10.0.0.2 port 4000: the program ended with code 1 (first; second; third)");
  EXPECT_THAT(failure_of("IB device mlx5_0 not found").text, HasSubstr("this machine has no device mlx5_0"));
  EXPECT_THAT(failure_of("Couldn't allocate MR").text, HasSubstr("memlock"));
  EXPECT_THAT(failure_without_program(Tool::send_latency).text, StartsWith("ib_send_lat: "));
  EXPECT_THAT(failure_without_program(Tool::send_latency).text, EndsWith("install perftest"));
  EXPECT_EQ(to_string(failure_without_program(Tool::send_latency).reason), "no_program");
}

TEST(PerftestFailure, is_short_and_printable_whatever_it_said) {
  const std::string text = failure_of(std::string(1U << 20U, 'a') + "\x1b[2J\xff").text;
  EXPECT_LE(text.size(), kLongestFailure);
  EXPECT_THAT(failure_of("bad\x1b[2J\n").text, HasSubstr("(bad?[2J)"));
  EXPECT_EQ(failure_of_figures(kTest, {Errc::malformed, "missing table"}).text,
            "ib_write_bw to 10.0.0.2 port 4000: malformed output: missing table");
}

}  // namespace
}  // namespace autopilot::probes::net
