// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/log_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class GpuAmdgpuErrors : public LogCheckTest {
 protected:
  GpuAmdgpuErrors() : LogCheckTest(kGpuAmdgpuErrors, 10s) {
    const std::string device = "/sys/bus/pci/devices/0000:05:00.0";
    folder_.write(device + "/vendor", "0x1002\n");
    folder_.write(device + "/device", "0x74a1\n");
    folder_.write(device + "/class", "0x120000\n");
  }
  void driver_says(const std::string& text) { say("amdgpu 0000:05:00.0: amdgpu: " + text); }
};

TEST_F(GpuAmdgpuErrors, a_machine_without_such_a_gpu_is_not_asked) {
  std::filesystem::remove_all(folder_.path() + "/sys/bus/pci/devices/0000:05:00.0");
  EXPECT_THAT(reasons(), ElementsAre("unsupported"));
}

TEST_F(GpuAmdgpuErrors, an_error_is_a_fault_of_the_gpu_that_the_line_names) {
  driver_says("{12}[socket: 1, die: 0] 2 new uncorrectable hardware errors detected in umc block");
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(to_string(findings[0].subject), "gpu/0000:05:00.0");
  EXPECT_EQ(reason_of(findings[0]), "failed amd_uncorrectable_errors");
  EXPECT_EQ(findings[0].action, Action::drain_then_reset_gpu);
}

TEST_F(GpuAmdgpuErrors, errors_outside_of_the_memory_are_told_as_such) {
  driver_says("2 uncorrectable hardware errors detected in gfx block");
  EXPECT_THAT(reasons(), ElementsAre("failed ecc_chip_uncorrected"));
}

TEST_F(GpuAmdgpuErrors, a_gpu_that_could_not_be_initialised_is_told_though_no_driver_has_it) {
  folder_.write("/sys/bus/pci/devices/0000:05:00.0/class", "0x030000\n");
  EXPECT_THAT(reasons(), ElementsAre("unsupported"));
  folder_.write("/sys/module/amdgpu/initstate", "live\n");
  driver_says("Fatal error during GPU init");
  EXPECT_THAT(reasons(), ElementsAre("failed amd_init_failed"));
}

TEST_F(GpuAmdgpuErrors, what_programs_do_wrong_and_what_was_corrected_is_shown_and_not_judged) {
  driver_says("[gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32769)");
  driver_says("ring gfx_0.0.0 timeout, signaled seq=81, emitted seq=83");
  driver_says("3 correctable hardware errors detected in umc block, no user action is needed.");
  driver_says("0 uncorrectable hardware errors detected in total in umc block");
  EXPECT_THAT(reasons(), IsEmpty());
  EXPECT_EQ(history_.events().size(), 3U);
}

TEST_F(GpuAmdgpuErrors, what_user_space_writes_makes_no_fault) {
  say("amdgpu 0000:05:00.0: amdgpu: device lost from bus!", 1);
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(GpuAmdgpuErrors, a_reset_that_succeeds_takes_back_one_that_failed_before_and_no_later_one) {
  driver_says("GPU reset(2) failed");
  EXPECT_THAT(reasons(), ElementsAre("failed amd_reset_failed"));
  driver_says("GPU reset(3) succeeded!");
  EXPECT_THAT(reasons(), IsEmpty());
  driver_says("GPU reset(4) failed");
  EXPECT_THAT(reasons(), ElementsAre("failed amd_reset_failed"));
}

TEST_F(GpuAmdgpuErrors, a_reset_by_the_driver_lost_its_work_and_one_that_somebody_wanted_is_no_news) {
  driver_says("GPU reset begin!. Source:  5");
  driver_says("GPU reset succeeded, trying to resume");
  driver_says("GPU reset(2) succeeded!");
  EXPECT_THAT(reasons(), IsEmpty());
  driver_says("ring gfx_0.0.0 timeout, signaled seq=57638, emitted seq=57641");
  EXPECT_THAT(reasons(), IsEmpty());
  driver_says("GPU reset begin!. Source:  1");
  driver_says("GPU reset(3) succeeded!");
  EXPECT_THAT(reasons(), ElementsAre("degraded amd_was_reset"));
  driver_says("GPU Recovery Failed: -22");
  EXPECT_THAT(reasons(), ElementsAre("failed amd_reset_failed", "degraded amd_was_reset"));
}

TEST_F(GpuAmdgpuErrors, heat_is_told_from_the_power_cap) {
  driver_says("WARN: GPU is throttled, expect performance decrease. PPT.");
  EXPECT_THAT(reasons(), IsEmpty());
  driver_says("WARN: GPU thermal throttling temperature reached, expect performance decrease. GPU.");
  EXPECT_THAT(reasons(), ElementsAre("degraded amd_throttled"));
  EXPECT_THAT(reasons(20min), IsEmpty());
}

}  // namespace
}  // namespace autopilot::checks
