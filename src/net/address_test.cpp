// SPDX-License-Identifier: Apache-2.0
#include "net/address.hpp"

#include <gtest/gtest.h>

namespace autopilot::net {
namespace {

TEST(Address, reads_what_a_person_writes) {
  for (const auto& [text, address, port] :
       {std::tuple{"127.0.0.1:3333", "127.0.0.1", 3333}, std::tuple{"[::1]:3333", "::1", 3333},
        std::tuple{"localhost:1", "127.0.0.1", 1}, std::tuple{":0", "", 0},
        std::tuple{"0.0.0.0:65535", "0.0.0.0", 65535}}) {
    const auto parsed = parse_ip_port(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->address, address);
    EXPECT_EQ(parsed->port, port);
  }
  EXPECT_EQ(to_string(IpPort{"::1", 80}), "[::1]:80");
  EXPECT_EQ(to_string(IpPort{"10.0.0.1", 80}), "10.0.0.1:80");
}

TEST(Address, refuses_the_rest) {
  for (const char* text :
       {"", "3333", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:3333", "[]:80",
        "[127.0.0.1]:80", "[::1]", "name.example:80", "127.0.0.1:80 "})
    EXPECT_FALSE(parse_ip_port(text)) << text;
}

}  // namespace
}  // namespace autopilot::net
