// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class GpuPresent : public GpuCheckTest {
 protected:
  void add_to_module(int index, const std::string& uuid = "GPU-1234", const std::string& excluded = "No") {
    write("/proc/driver/nvidia/gpus/" + address(index) + "/information",
          "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 17\nGPU UUID: \t " + uuid + "\nGPU Excluded:\t " +
              excluded);
  }
};

TEST_F(GpuPresent, all_witnesses_agree) {
  for (int i = 0; i < 4; ++i) {
    add(i);
    add_to_module(i);
  }
  EXPECT_THAT(look(kGpuPresent), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("pci", "nvml", "/proc/driver/nvidia/gpus"));
}

TEST_F(GpuPresent, a_gpu_that_the_driver_does_not_list_is_missing_though_the_others_move_up) {
  for (int i = 0; i < 3; ++i) {
    add_to_pci(i);
    add_to_module(i);
  }
  add_to_driver(0);
  add_to_driver(2).subject.index = 1;  // NVML renumbers
  EXPECT_THAT(look(kGpuPresent), ElementsAre(gpu(1) + " failed gpu_missing"));
  EXPECT_EQ(findings_[0].action, Action::power_cycle);
}

TEST_F(GpuPresent, states_of_single_gpus) {
  for (int i = 0; i < 4; ++i)
    add(i);
  gpus_.report.gpus[0].state = host::GpuState::lost;
  gpus_.report.gpus[1].state = host::GpuState::reset_required;
  gpus_.report.gpus[2].state = host::GpuState::unreadable;
  EXPECT_THAT(look(kGpuPresent),
              ElementsAre(gpu(0) + " failed gpu_lost", gpu(1) + " failed gpu_reset_required",
                          gpu(2) + " degraded gpu_unreadable"));
}

TEST_F(GpuPresent, a_gpu_that_does_not_initialise_is_told_apart_from_one_that_was_excluded) {
  for (int i = 0; i < 3; ++i)
    add_to_pci(i);
  add_to_driver(0);
  add_to_module(0);
  add_to_module(1, "GPU-" + std::string(8, '?'));
  add_to_module(2, "GPU-5678", "Yes");
  EXPECT_THAT(look(kGpuPresent),
              ElementsAre(gpu(1) + " failed gpu_uninitialised", gpu(2) + " unsupported gpu_not_used_here"));
}

TEST_F(GpuPresent, a_gpu_given_to_a_virtual_machine_is_not_missing) {
  add(0);
  add_to_pci(1, "vfio-pci");
  EXPECT_THAT(look(kGpuPresent), ElementsAre(gpu(1) + " unsupported gpu_not_used_here"));
}

TEST_F(GpuPresent, a_gpu_without_a_kernel_driver_is_missing) {
  add(0);
  add_to_module(0);
  add_to_pci(1, "");
  EXPECT_THAT(look(kGpuPresent), ElementsAre(gpu(1) + " failed gpu_missing"));
}

TEST_F(GpuPresent, a_container_with_some_of_the_gpus_is_sound_unless_all_are_expected) {
  add(0);
  add_to_module(0);
  add_to_pci(1);
  EXPECT_THAT(look(kGpuPresent), ElementsAre(gpu(1) + " unsupported gpu_not_used_here"));
  expectation_.gpu_count = 2;
  EXPECT_THAT(look(kGpuPresent), ElementsAre(gpu(1) + " failed gpu_missing"));
}

TEST_F(GpuPresent, a_driver_that_does_not_work_leaves_the_pci_tree_as_witness) {
  add(0);
  gpus_.report.state = host::DriverState::unresponsive;
  EXPECT_THAT(look(kGpuPresent), IsEmpty()) << "gpu.driver speaks about the driver";
  EXPECT_THAT(witnesses_, ElementsAre("pci"));
}

TEST_F(GpuPresent, the_number_is_compared_with_the_expectation) {
  expectation_.gpu_count = 8;
  EXPECT_THAT(look(kGpuPresent), ElementsAre("host failed gpu_count_low")) << "none at all";
  add(0);
  EXPECT_THAT(look(kGpuPresent), ElementsAre("host failed gpu_count_low"));
  expectation_.gpu_count = 0;
  EXPECT_THAT(look(kGpuPresent), ElementsAre("host degraded gpu_count_high"));
  expectation_.gpu_count = 1;
  EXPECT_THAT(look(kGpuPresent), IsEmpty());
}

TEST_F(GpuPresent, a_gpu_that_leaves_the_pci_tree_is_noticed_without_any_expectation) {
  add(0);
  add(1);
  EXPECT_THAT(look(kGpuPresent), IsEmpty());
  std::filesystem::remove(folder_.path() + "/sys/bus/pci/devices/" + address(1));
  gpus_.report.gpus.pop_back();
  EXPECT_THAT(look(kGpuPresent), ElementsAre("host failed gpu_vanished"));
}

TEST_F(GpuPresent, what_the_driver_wants_done_becomes_the_action) {
  for (int i = 0; i < 4; ++i) {
    add(i);
    set(i, "recovery_action", i == 0 ? 0 : i == 1 ? 2 : i == 2 ? 5 : 42);
  }
  EXPECT_THAT(look(kGpuPresent),
              ElementsAre(gpu(1) + " failed gpu_recovery_wanted", gpu(2) + " degraded gpu_recovery_wanted",
                          gpu(3) + " degraded gpu_recovery_wanted"));
  EXPECT_EQ(findings_[0].action, Action::reboot_node);
  EXPECT_EQ(findings_[1].action, Action::recover_imex);
  EXPECT_THAT(findings_[2].message, HasSubstr("42"));
}

TEST_F(GpuPresent, with_neither_pci_tree_nor_driver_nobody_looked) {
  write("/sys/bus/pci/devices/0000:10:00.0/vendor", "garbage");
  gpus_.report.state = host::DriverState::library_missing;
  EXPECT_THAT(look(kGpuPresent), ElementsAre("error unavailable"));
}

}  // namespace
}  // namespace autopilot::checks
