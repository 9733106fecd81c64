// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class GpuClocks : public GpuCheckTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < 4; ++i) {
      add(i);
      work(i, 1980);
    }
  }
  void work(int index, std::int64_t megahertz, std::int64_t reasons = 0, double load = 0.97) {
    set(index, "utilization", Value{load});
    set(index, "clocks.sm", megahertz);
    set(index, "clocks.event_reasons", reasons);
  }
  std::vector<std::string> look_often(int times = 4) {
    std::vector<std::string> result;
    for (int i = 0; i < times; ++i)
      result = look(kGpuClocks, 60s);
    return result;
  }
};

TEST_F(GpuClocks, one_that_is_slow_for_no_reason_is_told) {
  work(2, 1400);
  EXPECT_THAT(look_often(), ElementsAre(gpu(2) + " degraded clock_below_siblings"));
  EXPECT_THAT(findings_[0].message,
              HasSubstr("1400 MHz under load; the median of 3 other GPUs of its model is 1980 MHz"));
}

TEST_F(GpuClocks, a_moment_says_nothing) {
  work(2, 1400);
  EXPECT_THAT(look_often(2), IsEmpty());
}

TEST_F(GpuClocks, an_idle_gpu_is_slow_by_right) {
  work(2, 345, 1, 0.02);
  EXPECT_THAT(look_often(), IsEmpty());
}

TEST_F(GpuClocks, heat_and_power_are_somebody_elses_findings) {
  for (const std::int64_t reason : {0x4, 0x8, 0x20, 0x40, 0x80}) {
    work(2, 1400, reason);
    EXPECT_THAT(look_often(11), IsEmpty()) << reason;
  }
}

TEST_F(GpuClocks, a_setting_of_one_gpu_is_told_and_named_as_evidence) {
  work(2, 1200, 0x2);
  EXPECT_THAT(look_often(), ElementsAre(gpu(2) + " degraded clock_below_siblings"));
  EXPECT_THAT(findings_[0].evidence, ::testing::Contains(::testing::Pair("applicationClocks", Value{true})));
}

TEST_F(GpuClocks, a_setting_that_all_share_is_none) {
  for (int i = 0; i < 4; ++i)
    work(i, 1200, 0x2);
  EXPECT_THAT(look_often(), IsEmpty());
}

TEST_F(GpuClocks, fewer_than_three_that_work_cannot_be_compared) {
  work(0, 1400);
  work(2, 345, 1, 0.0);
  work(3, 345, 1, 0.0);
  EXPECT_THAT(look_often(), IsEmpty());
}

// As the runtime keeps it, see CheckInfo::baselines.
class LonelyGpu : public GpuClocks {
 protected:
  void SetUp() override {
    GpuClocks::SetUp();
    gpus_.report.gpus.resize(2);
    for (int i = 0; i < 2; ++i)
      set(i, "clocks.sm.largest", 1980);
  }
};

TEST_F(LonelyGpu, is_compared_with_what_it_reached_since_the_machine_started) {
  EXPECT_THAT(look_often(), IsEmpty());
  work(1, 1400);
  EXPECT_THAT(look_often(11), ElementsAre(gpu(1) + " degraded clock_below_itself"));
  EXPECT_THAT(findings_[0].message, HasSubstr("it has run at 1980 MHz since the machine started"));
  EXPECT_THAT(findings_[0].message, HasSubstr("since the machine started"));
  EXPECT_THAT(kGpuClocks.info.baselines, ElementsAre("clocks.sm"));
}

TEST_F(LonelyGpu, that_somebody_set_or_that_idles_is_slow_by_right) {
  work(0, 1200, 0x2);
  work(1, 345, 1, 0.02);
  EXPECT_THAT(look_often(11), IsEmpty());
}

}  // namespace
}  // namespace autopilot::checks
