// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/ports.hpp"

#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

std::vector<int> all_of(const PortRange& range, int count) {
  std::vector<int> list;
  Ports ports(range, count);
  while (list.size() < 100) {
    const auto port = ports.next(*parse_address("127.0.0.1"));
    if (!port) {
      EXPECT_EQ(port.error().code, Errc::exhausted);
      return list;
    }
    list.push_back(*port);
  }
  return list;
}

TEST(Ports, one_number_is_the_first_of_as_many_as_there_are_servers) {
  EXPECT_EQ(all_of(*parse_port_range("5201"), 3), (std::vector{5201, 5202, 5203}));
  EXPECT_FALSE(parse_port_range("5201")->has_choice());
}

TEST(Ports, of_a_range_any_may_be_tried) {
  EXPECT_EQ(all_of(*parse_port_range("5201-5204"), 2), (std::vector{5201, 5202, 5203, 5204}));
  EXPECT_TRUE(parse_port_range("5201-5204")->has_choice());
}

TEST(Ports, they_end_where_numbers_of_ports_do) {
  EXPECT_EQ(all_of(*parse_port_range("65534"), 10), (std::vector{65534, 65535}));
}

TEST(Ports, of_zero_the_kernel_chooses_and_not_for_ever) {
  const auto ports = all_of(*parse_port_range("0"), 1);
  ASSERT_GT(ports.size(), 1U);
  EXPECT_LT(ports.size(), 100U);
  for (const int port : ports)
    EXPECT_GT(port, 0);
}

TEST(Ports, an_address_of_another_machine_has_none) {
  Ports ports({.first = 0, .last = {}}, 1);
  EXPECT_FALSE(ports.next(*parse_address("192.0.2.1")));
}

TEST(Ports, what_is_none_is_refused) {
  for (const char* text :
       {"", "-", "5201-", "-5201", "5300-5201", "65536", "0-10", "5201 ", "5201,5202", "0x10", "-1"})
    EXPECT_FALSE(parse_port_range(text)) << text;
  EXPECT_EQ(parse_ports("5201,5203"), (std::vector{5201, 5203}));
  for (const char* text : {"", "0", "5201,", "5201,5201", "65536", "5201-5202", "a"})
    EXPECT_FALSE(parse_ports(text)) << text;
}

}  // namespace
}  // namespace autopilot::probes::net
