// SPDX-License-Identifier: Apache-2.0
#include "probes/net/iperf/reason.hpp"

#include <cerrno>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iperf_api.h>

namespace autopilot::probes::net {
namespace {

std::string_view word(int code, int errno_value = 0) {
  return to_string(failure_of({.code = code, .errno_value = errno_value, .text = ""}, "peer").reason);
}

TEST(Reason, of_a_connection_that_is_not_made_is_what_the_kernel_says) {
  EXPECT_EQ(word(IECONNECT, ECONNREFUSED), "refused");
  EXPECT_EQ(word(IECONNECT, EHOSTUNREACH), "unreachable");
  EXPECT_EQ(word(IECONNECT, ENETUNREACH), "no_route");
  EXPECT_EQ(word(IECONNECT, EADDRNOTAVAIL), "no_address");
  EXPECT_EQ(word(IECONNECT, ETIMEDOUT), "timed_out");
  EXPECT_EQ(word(IECONNECT, EACCES), "denied");
  EXPECT_EQ(word(IESTREAMCONNECT, ECONNREFUSED), "refused");
  EXPECT_EQ(word(IECONNECT), "internal");
}

TEST(Reason, of_a_port_is_who_has_it) {
  EXPECT_EQ(word(IELISTEN, EADDRINUSE), "port_taken");
  EXPECT_EQ(word(IELISTEN, EADDRNOTAVAIL), "no_address");
  EXPECT_EQ(word(IELISTEN, EACCES), "denied");
}

TEST(Reason, of_a_connection_that_breaks_is_the_peer) {
  EXPECT_EQ(word(IECTRLCLOSE), "peer_vanished");
  EXPECT_EQ(word(IESERVERTERM), "peer_vanished");
  EXPECT_EQ(word(IESTREAMWRITE, ECONNRESET), "peer_vanished");
  EXPECT_EQ(word(IERECVRESULTS, ECONNRESET), "peer_vanished");
  EXPECT_EQ(word(IESTREAMWRITE, ETIMEDOUT), "timed_out");
  EXPECT_EQ(word(IENOMSG), "timed_out");
}

TEST(Reason, of_a_peer_that_answers_is_what_it_says) {
  EXPECT_EQ(word(IEACCESSDENIED), "busy");
  EXPECT_EQ(word(IEMESSAGE), "wrong_version");
  EXPECT_EQ(word(IERECVRESULTS), "garbage");
  EXPECT_EQ(word(IETOTALRATE), "denied");
  EXPECT_EQ(word(-1), "internal");
}

TEST(Reason, the_sentence_names_the_peer_and_hides_what_cannot_be_printed) {
  const Failure failure =
      failure_of({.code = IECTRLCLOSE, .errno_value = 0, .text = "closed\x1b[2J"}, "10.0.0.2 port 5201");
  EXPECT_EQ(failure.text, "10.0.0.2 port 5201: the connection broke (closed?[2J)");
  EXPECT_LT(failure_of({.code = 1, .errno_value = 0, .text = std::string(100000, 'a')}, "peer").text.size(),
            400U);
}

TEST(Reason, the_number_of_an_error_is_found_at_the_end_of_the_words) {
  EXPECT_EQ(errno_at_end_of("unable to connect to server: Connection refused"), ECONNREFUSED);
  EXPECT_EQ(errno_at_end_of("unable to read from stream: Connection reset by peer"), ECONNRESET);
  EXPECT_EQ(errno_at_end_of("Connection refused"), 0);
  EXPECT_EQ(errno_at_end_of("the server is busy running a test. try again later"), 0);
  EXPECT_EQ(errno_at_end_of(""), 0);
}

}  // namespace
}  // namespace autopilot::probes::net
