// SPDX-License-Identifier: Apache-2.0
#include "nettest/echo/echo_message.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace autopilot::nettest {
namespace {

const EchoLabel kLabel{.round = 0x0123456789abcdef, .target = 70000, .number = 513};

// What a host that is asked sends back: the same with another type.
std::string reply_to(std::string request, bool is_ipv6) {
  request[0] = static_cast<char>(is_ipv6 ? 129 : 0);
  return request;
}

// RFC 1071: with the right sum in it all words add up to ones.
unsigned sum_of(const std::string& message) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < message.size(); ++i)
    sum += static_cast<unsigned>(static_cast<unsigned char>(message[i])) << (i % 2 == 0 ? 8 : 0);
  while (sum > 0xffff)
    sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

TEST(EchoMessage, a_reply_has_the_label_of_its_question) {
  for (const bool is_ipv6 : {false, true}) {
    const auto label =
        parse_echo_reply(is_ipv6, reply_to(make_echo_request(is_ipv6, 7, kLabel, 84), is_ipv6));
    ASSERT_TRUE(label);
    EXPECT_EQ(*label, kLabel);
  }
}

TEST(EchoMessage, a_request_has_the_size_that_is_wanted_and_never_less_than_its_label) {
  EXPECT_EQ(make_echo_request(false, 7, kLabel, 1500).size(), 1480U);
  EXPECT_EQ(make_echo_request(true, 7, kLabel, 1500).size(), 1460U);
  EXPECT_EQ(make_echo_request(false, 7, kLabel, 0).size(), kEchoHeader + kEchoLabel);
}

TEST(EchoMessage, the_sum_of_icmp_is_right) {
  for (const std::size_t bytes : std::vector<std::size_t>{0, 84, 85, 9000})
    EXPECT_EQ(sum_of(make_echo_request(false, 0xbeef, kLabel, bytes)), 0xffffU) << bytes;
}

TEST(EchoMessage, other_messages_and_truncated_replies_have_no_label) {
  const std::string request = make_echo_request(false, 7, kLabel, 84);
  EXPECT_FALSE(parse_echo_reply(false, request));
  EXPECT_FALSE(parse_echo_reply(false, ""));
  EXPECT_FALSE(parse_echo_reply(true, reply_to(request, false)));
  std::string reply = reply_to(request, false);
  EXPECT_FALSE(parse_echo_reply(false, reply.substr(0, kEchoHeader + kEchoLabel - 1)));
  EXPECT_TRUE(parse_echo_reply(false, reply.substr(0, kEchoHeader + kEchoLabel)));
  reply[1] = 1;
  EXPECT_FALSE(parse_echo_reply(false, reply));
}

std::string ipv4_packet(unsigned char words, const std::string& message, char protocol = 1) {
  std::string packet(std::size_t{4} * words, '\0');
  packet[0] = static_cast<char>(0x40 | words);
  packet[9] = protocol;
  return packet + message;
}

TEST(EchoMessage, the_header_of_ipv4_is_taken_off_with_its_options) {
  EXPECT_EQ(message_of_ipv4_packet(ipv4_packet(5, "hello")), "hello");
  EXPECT_EQ(message_of_ipv4_packet(ipv4_packet(15, "hello")), "hello");
  EXPECT_EQ(message_of_ipv4_packet(ipv4_packet(5, "")), "");
}

TEST(EchoMessage, other_packets_than_ipv4_with_icmp_have_no_message) {
  EXPECT_FALSE(message_of_ipv4_packet(""));
  EXPECT_FALSE(message_of_ipv4_packet(ipv4_packet(5, "hello", 17)));
  EXPECT_FALSE(message_of_ipv4_packet(ipv4_packet(15, "").substr(0, 59)));
  std::string short_header = ipv4_packet(5, "hello");
  short_header[0] = 0x44;
  EXPECT_FALSE(message_of_ipv4_packet(short_header));
  std::string ipv6 = ipv4_packet(5, "hello");
  ipv6[0] = 0x65;
  EXPECT_FALSE(message_of_ipv4_packet(ipv6));
}

}  // namespace
}  // namespace autopilot::nettest
