// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GpuInforom : public GpuCheckTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < 2; ++i) {
      add(i);
      set_flag(i, "inforom.valid", true);
    }
  }
};

TEST_F(GpuInforom, wrong_checksums_are_for_the_vendor) {
  EXPECT_THAT(look(kGpuInforom), IsEmpty());
  set_flag(1, "inforom.valid", false);
  EXPECT_THAT(look(kGpuInforom), ElementsAre(gpu(1) + " degraded inforom_corrupted"));
  EXPECT_EQ(findings_[0].action, Action::contact_vendor);
}

TEST_F(GpuInforom, a_driver_that_cannot_ask_says_neither_healthy_nor_damaged) {
  set(1, "inforom.valid", std::nullopt, 3);
  EXPECT_THAT(look(kGpuInforom), ElementsAre(gpu(1) + " unsupported not_supported"));
  set(1, "inforom.valid", std::nullopt, 999);
  EXPECT_THAT(look(kGpuInforom), ElementsAre(gpu(1) + " unknown could_not_look"));
}

}  // namespace
}  // namespace autopilot::checks
