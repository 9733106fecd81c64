// SPDX-License-Identifier: Apache-2.0
#include "host/process/user_name.hpp"

#include <gtest/gtest.h>

namespace autopilot::host {
namespace {

TEST(UserName, knows_root_and_nobody_who_is_not_listed) {
  EXPECT_EQ(local_user_name(0), "root");
  EXPECT_EQ(local_user_name(0xfffffff0U), std::nullopt);
}

}  // namespace
}  // namespace autopilot::host
