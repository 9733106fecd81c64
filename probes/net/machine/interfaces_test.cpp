// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/interfaces.hpp"

#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

Address address(std::string_view text) {
  return *parse_address(text);
}

const std::vector<InterfaceAddress> kKnown = {{"lo", address("127.0.0.1")},
                                              {"ib0", address("fe80::1%ib0")},
                                              {"ib0", address("2001:db8::1")},
                                              {"ib0", address("10.0.0.1")},
                                              {"ib1", address("fe80::1%ib1")}};

TEST(Interfaces, an_address_tells_its_interface) {
  EXPECT_EQ(interface_of(kKnown, address("10.0.0.1")), "ib0");
  EXPECT_EQ(interface_of(kKnown, address("fe80::1%ib1")), "ib1");
  EXPECT_EQ(interface_of(kKnown, address("10.0.0.2")), std::nullopt);
}

TEST(Interfaces, the_source_is_one_from_which_the_target_can_be_reached) {
  EXPECT_EQ(address_on(kKnown, "ib0", address("10.9.9.9"))->text, "10.0.0.1");
  EXPECT_EQ(address_on(kKnown, "ib0", address("2001:db8::9"))->text, "2001:db8::1");
  EXPECT_EQ(address_on(kKnown, "ib0", address("fe80::9%ib0"))->text, "fe80::1%ib0");
  EXPECT_FALSE(address_on(kKnown, "ib1", address("10.9.9.9")));
  EXPECT_FALSE(address_on(kKnown, "ib7", address("10.9.9.9")));
}

TEST(Interfaces, the_kernel_knows_the_way_to_this_machine) {
  const auto known = read_interface_addresses();
  ASSERT_TRUE(known);
  if (!interface_of(*known, address("127.0.0.1"))) GTEST_SKIP() << "needs a loopback interface that is up";
  EXPECT_EQ(read_source_towards(address("127.0.0.1"))->text, "127.0.0.1");
}

}  // namespace
}  // namespace autopilot::probes::net
