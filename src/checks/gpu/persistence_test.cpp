// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GpuPersistence : public GpuCheckTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < 2; ++i) {
      add(i);
      set_flag(i, "persistence", true);
    }
  }
};

TEST_F(GpuPersistence, the_mode_counts_not_the_daemon) {
  EXPECT_THAT(look(kGpuPersistence), IsEmpty());
  set_flag(1, "persistence", false);
  EXPECT_THAT(look(kGpuPersistence), ElementsAre(gpu(1) + " degraded persistence_off"));
  EXPECT_THAT(findings_[0].message, HasSubstr("and no nvidia-persistenced was found"));
}

TEST_F(GpuPersistence, a_daemon_that_keeps_nothing_on_is_named) {
  write("/run/nvidia-persistenced/nvidia-persistenced.pid", "812");
  set_flag(1, "persistence", false);
  look(kGpuPersistence);
  EXPECT_THAT(findings_[0].message, HasSubstr("although nvidia-persistenced runs"));
  EXPECT_THAT(witnesses_, Contains(HasSubstr("nvidia-persistenced.pid")));
}

TEST_F(GpuPersistence, nobody_keeps_any_gpu_on_is_one_fault_of_the_machine) {
  set_flag(0, "persistence", false);
  set_flag(1, "persistence", false);
  EXPECT_THAT(look(kGpuPersistence), ElementsAre("host degraded persistence_off"));
  EXPECT_THAT(findings_[0].message, HasSubstr("all 2 GPUs"));
}

TEST_F(GpuPersistence, a_single_gpu_is_named_itself) {
  gpus_.report.gpus.pop_back();
  set_flag(0, "persistence", false);
  EXPECT_THAT(look(kGpuPersistence), ElementsAre(gpu(0) + " degraded persistence_off"));
}

}  // namespace
}  // namespace autopilot::checks
