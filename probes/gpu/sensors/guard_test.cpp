// SPDX-License-Identifier: Apache-2.0
#include "probes/gpu/sensors/guard.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::probes::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(CheckIsFree, a_gpu_that_nobody_uses_is_tested) {
  EXPECT_TRUE(check_is_free(std::vector<unsigned>{}, {.power_w = 70, .power_limit_w = 700}));
}

TEST(CheckIsFree, what_is_not_known_refuses_nothing) {
  EXPECT_TRUE(check_is_free(std::nullopt, {}));
  EXPECT_TRUE(check_is_free(std::nullopt, {.power_w = 700}));
}

TEST(CheckIsFree, its_users_are_named) {
  const Status status = check_is_free(std::vector<unsigned>{4200, 17}, {});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::conflict);
  EXPECT_THAT(status.error().what, HasSubstr("in use by 4200 17; use --beside-others"));
}

TEST(CheckIsFree, a_gpu_without_room_for_power_is_refused) {
  EXPECT_TRUE(check_is_free(std::nullopt, {.power_w = 629, .power_limit_w = 700}));
  const Status status = check_is_free(std::nullopt, {.power_w = 630, .power_limit_w = 700});
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().what, HasSubstr("draws 630 of its 700 W"));
}

TEST(CheckIsIdle, a_whole_gpu_whose_processes_are_known_is_tested) {
  EXPECT_TRUE(check_is_idle(std::vector<unsigned>{}, {}, false));
  EXPECT_TRUE(check_is_idle(std::vector<unsigned>{}, {}, std::nullopt)) << "it cannot be divided";
  EXPECT_THAT(check_is_idle(std::vector<unsigned>{17}, {}, false).error().what, HasSubstr("in use by 17"));
}

TEST(CheckIsIdle, what_nobody_tells_refuses_and_names_the_cure) {
  const Status status = check_is_idle(std::nullopt, {}, false);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::conflict);
  EXPECT_THAT(status.error().what, HasSubstr("by an unknown process"));
  EXPECT_THAT(status.error().what, HasSubstr("driver capability `utility`"));
}

TEST(CheckIsIdle, a_part_of_a_gpu_may_be_in_use) {
  const Status status = check_is_idle(std::vector<unsigned>{}, {}, true);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::conflict);
  EXPECT_THAT(status.error().what, HasSubstr("divided (MIG)"));
}

TEST(ThrottleWords, every_bit_is_told) {
  EXPECT_THAT(throttle_words(0), ElementsAre());
  EXPECT_THAT(throttle_words(0x44), ElementsAre("sw_power_cap", "hw_thermal"));
  EXPECT_THAT(throttle_words(0x8000000000000001), ElementsAre("gpu_idle", "0x8000000000000000"));
}

}  // namespace
}  // namespace autopilot::probes::gpu
