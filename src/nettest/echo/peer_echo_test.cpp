// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/peer_echo.hpp"

#include <gtest/gtest.h>

namespace autopilot::nettest {
namespace {

using namespace std::chrono_literals;

PeerEcho some_echo() {
  return {.address = "10.1.0.7",
          .way = EchoWay::tcp,
          .figures = {.sent = 25,
                      .answered = 20,
                      .duplicates = 3,
                      .out_of_order = 2,
                      .shortest = 100us,
                      .median = 200us,
                      .p99 = 1ms,
                      .longest = 2s},
          .interface = "eth0",
          .interface_mtu = 9000,
          .path_mtu = 1450,
          .problem = "No route to host"};
}

// The message with one piece of it replaced.
std::string with(std::string text, const std::string& piece, const std::string& other) {
  const auto at = text.find(piece);
  EXPECT_NE(at, std::string::npos) << piece << " in " << text;
  return text.replace(at, piece.size(), other);
}

TEST(PeerEcho, plans_are_read_as_they_were_written) {
  const EchoPlan plan{.addresses = {"10.1.0.7", "fd00::7"},
                      .echoes = 3,
                      .closer = 0,
                      .patience = 250ms,
                      .per_second = 100,
                      .finds_path_mtu = false,
                      .tcp_port = 3333};
  const auto read = parse_echo_plan(format_echo_plan(plan));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, plan);
}

TEST(PeerEcho, a_plan_beyond_the_limits_is_refused_with_its_place) {
  const std::string good = format_echo_plan({.addresses = {"10.1.0.7"}});
  EXPECT_TRUE(parse_echo_plan(good));
  for (const auto& [piece, other] : std::vector<std::pair<std::string, std::string>>{
           {"\"10.1.0.7\"", "\"node-b\""},
           {"\"10.1.0.7\"", "7"},
           {"\"echoes\":5", "\"echoes\":0"},
           {"\"echoes\":5", "\"echoes\":101"},
           {"\"closer\":20", "\"closer\":-1"},
           {"\"perSecond\":5000", "\"perSecond\":0"},
           {"\"tcpPort\":0", "\"tcpPort\":65536"},
           {"\"findsPathMtu\":true", "\"findsPathMtu\":1"},
           {"\"patienceNs\":1000000000", "\"patienceNs\":3600000000001"}}) {
    const auto refused = parse_echo_plan(with(good, piece, other));
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error().code, Errc::malformed);
    const auto name = piece.substr(0, piece.find("\":"));
    if (name != piece) {
      EXPECT_NE(refused.error().what.find(name.substr(1)), std::string::npos) << refused.error().what;
    }
  }
  EXPECT_FALSE(parse_echo_plan("{}"));
  EXPECT_FALSE(parse_echo_plan(""));
  EXPECT_FALSE(parse_echo_plan("[]"));
  EchoPlan long_one;
  long_one.addresses.assign(EchoPlan::kMostAddresses + 1, "10.1.0.7");
  EXPECT_FALSE(parse_echo_plan(format_echo_plan(long_one)));
}

TEST(PeerEcho, answers_are_read_as_they_were_written) {
  const std::vector<PeerEcho> echoes{some_echo(),
                                     {.address = "fd00::7"},
                                     {.address = "fd00::8", .way = EchoWay::none, .problem = "no time"}};
  const auto read = parse_peer_echoes(format_peer_echoes(echoes));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, echoes);
}

TEST(PeerEcho, answers_that_cannot_be_are_refused) {
  const std::string good = format_peer_echoes({some_echo()});
  for (const auto& [piece, other] :
       std::vector<std::pair<std::string, std::string>>{{"\"answered\":20", "\"answered\":26"},
                                                        {"\"outOfOrder\":2", "\"outOfOrder\":21"},
                                                        {"\"way\":\"tcp\"", "\"way\":\"udp\""},
                                                        {"\"medianNs\":200000", "\"medianNs\":-1"},
                                                        {"\"medianNs\":200000", "\"medianNs\":\"fast\""},
                                                        {"\"pathMtu\":1450,", ""}})
    EXPECT_FALSE(parse_peer_echoes(with(good, piece, other))) << other;
  EXPECT_FALSE(parse_peer_echoes("{\"echoes\":{}}"));
  EXPECT_FALSE(parse_peer_echoes("{\"echoes\":[7]}"));
}

// The results of the most addresses that a plan can have fit into one answer of a helper.
TEST(PeerEcho, the_largest_answer_is_smaller_than_a_frame) {
  PeerEcho echo = some_echo();
  echo.address = "fd00:1234:5678:9abc:def0:1234:5678:9abc";
  echo.interface = std::string(15, 'x');
  echo.problem = std::string(64, 'x');
  EXPECT_LT(format_peer_echoes(std::vector<PeerEcho>(EchoPlan::kMostAddresses, echo)).size(), 1U << 20);
}

}  // namespace
}  // namespace autopilot::nettest
