// SPDX-License-Identifier: Apache-2.0
#include "nccl/connection.hpp"

#include <gtest/gtest.h>

namespace autopilot::simulator::nccl {
namespace {

TEST(Place, an_id_leads_back_to_it) {
  const Place place{.address = 0x0100007f, .port = 4711, .secret = 0x0123456789abcdef};
  EXPECT_EQ(to_text(place), "127.0.0.1<4711>");
  const Place back = parse_id(to_id(place)).value_or(Place{});
  EXPECT_EQ(back.address, place.address);
  EXPECT_EQ(back.port, place.port);
  EXPECT_EQ(back.secret, place.secret);
}

TEST(Place, an_id_of_another_library_is_refused) {
  EXPECT_FALSE(parse_id({}));
}

}  // namespace

}  // namespace autopilot::simulator::nccl
