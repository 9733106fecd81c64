// SPDX-License-Identifier: Apache-2.0
#include "host/netlink/internet_address.hpp"

#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

TEST(InternetAddress, both_families_are_read_and_shown_again) {
  for (const std::string text : {"10.1.0.7", "fd00::7", "::1", "255.255.255.255"}) {
    const auto address = parse_internet_address(text, 80);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address_text(*address->get()), text);
    EXPECT_EQ(address->is_ipv6(), text.find(':') != std::string::npos);
  }
}

TEST(InternetAddress, names_ports_and_scopes_are_no_addresses) {
  for (const std::string text : {"", "node-b", "10.1.0", "10.1.0.7:80", "[fd00::7]", "fe80::1",
                                 "fe80::1%eth0", "10.1.0.256", " 10.1.0.7", "010.1.0.7"})
    EXPECT_FALSE(parse_internet_address(text)) << text;
}

TEST(InternetAddress, loopback_groups_and_any_are_no_other_machine) {
  for (const std::string text : {"10.1.0.7", "192.0.2.1", "223.255.255.254", "fd00::7", "2001:db8::1"})
    EXPECT_TRUE(is_host_address(text)) << text;
  for (const std::string text : {"127.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "240.0.0.1", "::1",
                                 "::", "ff02::1", "::ffff:10.1.0.7", "fe80::1", "node-b", ""})
    EXPECT_FALSE(is_host_address(text)) << text;
}

TEST(InternetAddress, addresses_of_one_host_are_equal_whatever_the_port) {
  EXPECT_EQ(*parse_internet_address("10.1.0.7", 80), *parse_internet_address("10.1.0.7", 81));
  EXPECT_EQ(*parse_internet_address("fd00::7", 80), *parse_internet_address("fd00:0::7", 81));
  EXPECT_FALSE(*parse_internet_address("10.1.0.7") == *parse_internet_address("10.1.0.8"));
  EXPECT_FALSE(*parse_internet_address("fd00::7") == *parse_internet_address("fd00::8"));
  EXPECT_FALSE(*parse_internet_address("10.1.0.7") == *parse_internet_address("::ffff:10.1.0.7"));
}

}  // namespace
}  // namespace autopilot::host
