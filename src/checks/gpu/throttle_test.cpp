// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

constexpr std::int64_t kSecond = 1'000'000'000;

class GpuThrottle : public GpuCheckTest {
 protected:
  void SetUp() override {
    add(0);
    for (const char* counter : {"throttle.hw_thermal", "throttle.hw_power_brake", "throttle.sw_thermal"})
      set(0, counter, 50 * kSecond);
    set(0, "clocks.event_reasons", 0);
  }
};

TEST_F(GpuThrottle, needs_two_looks) {
  EXPECT_THAT(look(kGpuThrottle), IsEmpty());
  EXPECT_TRUE(kGpuThrottle.info.needs_window);
}

TEST_F(GpuThrottle, the_share_of_time_counts_not_the_total) {
  look(kGpuThrottle);
  set(0, "throttle.hw_thermal", 51 * kSecond);
  EXPECT_THAT(look(kGpuThrottle, 30s), IsEmpty()) << "1 s of 30 s is below 5 %";
  set(0, "throttle.hw_thermal", 66 * kSecond);
  EXPECT_THAT(look(kGpuThrottle, 30s), ElementsAre(gpu(0) + " degraded throttle_hw_thermal"));
  EXPECT_THAT(findings_[0].message, HasSubstr("26.7 % of the last 1m"));
  EXPECT_EQ(findings_[0].action, Action::check_mechanicals);
}

TEST_F(GpuThrottle, each_cause_has_its_reason) {
  look(kGpuThrottle);
  set(0, "throttle.hw_power_brake", 60 * kSecond);
  set(0, "throttle.sw_thermal", 60 * kSecond);
  EXPECT_THAT(look(kGpuThrottle, 30s), ElementsAre(gpu(0) + " degraded throttle_hw_power_brake",
                                                   gpu(0) + " degraded throttle_sw_thermal"));
}

TEST_F(GpuThrottle, a_power_cap_under_load_is_normal) {
  set(0, "throttle.power_cap", 0);
  set(0, "clocks.event_reasons", 0x4);
  look(kGpuThrottle);
  set(0, "throttle.power_cap", 30 * kSecond);
  EXPECT_THAT(look(kGpuThrottle, 30s), IsEmpty());
}

TEST_F(GpuThrottle, a_reloaded_driver_counts_from_zero) {
  look(kGpuThrottle);
  set(0, "throttle.hw_thermal", 0);
  EXPECT_THAT(look(kGpuThrottle, 30s), IsEmpty());
}

TEST_F(GpuThrottle, without_counters_the_looks_are_counted) {
  for (const char* counter : {"throttle.hw_thermal", "throttle.hw_power_brake", "throttle.sw_thermal"})
    set(0, counter, std::nullopt, 3);
  set(0, "clocks.event_reasons", 0x40 | 0x8);
  EXPECT_THAT(look(kGpuThrottle), IsEmpty());
  EXPECT_THAT(look(kGpuThrottle), ElementsAre(gpu(0) + " degraded throttle_hw_thermal"));
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "measuredBy"), Value{std::string("samples")});
  set(0, "clocks.event_reasons", 0);
  for (int i = 0; i < 50; ++i)
    look(kGpuThrottle, 10s);
  EXPECT_THAT(look(kGpuThrottle, 10s), IsEmpty()) << "2 of 53 looks are below 5 %";
}

TEST_F(GpuThrottle, a_slowdown_that_nothing_explains_is_said_as_such) {
  set(0, "clocks.event_reasons", 0x8);
  look(kGpuThrottle);
  EXPECT_THAT(look(kGpuThrottle), ElementsAre(gpu(0) + " degraded throttle_hw_slowdown"));
}

TEST_F(GpuThrottle, a_slowdown_beside_its_cause_is_not_judged_twice) {
  set(0, "clocks.event_reasons", 0x8 | 0x40);
  look(kGpuThrottle);
  EXPECT_THAT(look(kGpuThrottle), IsEmpty()) << "the counter of heat says that it was short";
}

TEST_F(GpuThrottle, an_older_driver_tells_heat_by_one_counter) {
  set(0, "throttle.sw_thermal", std::nullopt, 3);
  set(0, "throttle.thermal", 0);
  look(kGpuThrottle);
  set(0, "throttle.thermal", 20 * kSecond);
  EXPECT_THAT(look(kGpuThrottle, 30s), ElementsAre(gpu(0) + " degraded throttle_sw_thermal"));
}

}  // namespace
}  // namespace autopilot::checks
