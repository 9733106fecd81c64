// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/address.hpp"

#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

TEST(Address, is_written_as_the_kernel_writes_it) {
  EXPECT_EQ(parse_address("10.0.0.1")->text, "10.0.0.1");
  EXPECT_EQ(parse_address("2001:DB8:0::01")->text, "2001:db8::1");
  EXPECT_EQ(parse_address("fe80::1%eth0")->text, "fe80::1%eth0");
  EXPECT_EQ(parse_address("fe80::1%eth0")->zone, "eth0");
}

TEST(Address, a_name_or_half_of_an_address_is_none) {
  const std::string long_zone = "fe80::1%" + std::string(16, 'a');
  for (const std::string text :
       {"", "node-a", "10.0.0", "10.0.0.1 ", "10.0.0.256", "::1%", "10.0.0.1%eth0", "fe80::1%a b",
        "2001:db8::1%eth0", "fe80::1%a%b", "1::2::3", "-s", "fe80::1%a/b"})
    EXPECT_FALSE(parse_address(text)) << text;
  EXPECT_FALSE(parse_address(long_zone));
  EXPECT_FALSE(parse_address(std::string("10.0.0.1\0x", 10)));
  EXPECT_FALSE(parse_address(std::string(100000, '1')));
}

TEST(Address, the_zone_makes_no_other_machine) {
  EXPECT_TRUE(is_same_address(*parse_address("fe80::1%a"), *parse_address("fe80::1%b")));
  EXPECT_FALSE(is_same_address(*parse_address("fe80::1"), *parse_address("fe80::2")));
  EXPECT_FALSE(is_same_address(*parse_address("0.0.0.0"), *parse_address("::")));
}

}  // namespace
}  // namespace autopilot::probes::net
