// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GpuPower : public GpuCheckTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < 4; ++i) {
      add(i);
      set_watts(i, 700, 700);
      set(i, "power.limit_default", Value{700.0});
    }
  }
  void set_watts(int index, double in_force, double requested) {
    set(index, "power.limit", Value{in_force});
    set(index, "power.limit_requested", Value{requested});
  }
};

TEST_F(GpuPower, a_limit_below_that_of_the_siblings_is_told) {
  set_watts(1, 500, 500);
  EXPECT_THAT(look(kGpuPower), ElementsAre(gpu(1) + " degraded power_limit_low"));
  EXPECT_THAT(findings_[0].message,
              HasSubstr("is limited to 500 W, most other GPUs of its model may draw 700 W"));
}

TEST_F(GpuPower, what_all_share_was_set_on_purpose) {
  for (int i = 0; i < 4; ++i)
    set_watts(i, 400, 400);
  EXPECT_THAT(look(kGpuPower), IsEmpty());
}

TEST_F(GpuPower, a_limit_above_that_of_the_siblings_is_no_fault) {
  for (int i = 0; i < 3; ++i)
    set_watts(i, 500, 500);
  EXPECT_THAT(look(kGpuPower), IsEmpty());
}

TEST_F(GpuPower, where_no_limit_has_a_majority_the_boards_default_is_compared) {
  set_watts(0, 500, 500);
  set_watts(1, 500, 500);
  EXPECT_THAT(look(kGpuPower),
              ElementsAre(gpu(0) + " degraded power_limit_low", gpu(1) + " degraded power_limit_low"));
  EXPECT_THAT(findings_[0].message, HasSubstr("its default is 700 W"));
}

TEST_F(GpuPower, what_holds_a_gpu_below_its_setting_is_another_thing_than_the_setting) {
  set_watts(2, 350, 700);
  EXPECT_THAT(look(kGpuPower), ElementsAre(gpu(2) + " degraded power_limit_held_down"));
  EXPECT_EQ(findings_[0].action, Action::check_mechanicals);
}

TEST_F(GpuPower, an_older_driver_tells_only_the_limit_in_force) {
  for (int i = 0; i < 4; ++i)
    set(i, "power.limit_requested", std::nullopt, 3);
  set(3, "power.limit", Value{600.0});
  EXPECT_THAT(look(kGpuPower), ElementsAre(gpu(3) + " degraded power_limit_low"));
}

TEST_F(GpuPower, a_watt_more_or_less_is_rounding) {
  set_watts(1, 699, 700);
  EXPECT_THAT(look(kGpuPower), IsEmpty());
}

}  // namespace
}  // namespace autopilot::checks
