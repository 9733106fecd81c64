// SPDX-License-Identifier: Apache-2.0
#include "probes/net/machine/route.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::net {
namespace {

TEST(WayOut, to_this_machine_is_by_its_loopback) {
  const auto here = *parse_address("127.0.0.1");
  EXPECT_EQ(way_out(here, here).value_or("none"), "lo");
}

TEST(WayOut, from_an_address_of_others_there_is_none) {
  const auto way = way_out(*parse_address("192.0.2.1"), *parse_address("127.0.0.1"));
  ASSERT_FALSE(way);
  EXPECT_THAT(way.error().what, testing::HasSubstr("the route from 192.0.2.1 to 127.0.0.1"));
}

}  // namespace
}  // namespace autopilot::probes::net
