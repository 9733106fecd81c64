// SPDX-License-Identifier: Apache-2.0
#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class GpuPcieLink : public GpuCheckTest {
 protected:
  void SetUp() override {
    for (int i = 0; i < 4; ++i) {
      add(i);
      set_link(i, 16, "32.0 GT/s PCIe");
      set_slot(i, 16, "32.0 GT/s PCIe");
      set(i, "pcie.width", 16);
      set(i, "pcie.width_max", 16);
      set(i, "pcie.generation", 5);
      set(i, "pcie.generation_max", 5);
      set(i, "pcie.replays", 0);
      set(i, "performance_state", 0);
      set(i, "utilization", Value{0.9});
    }
  }
  void set_link(int index, int width, const std::string& speed) {
    write(pci_folder(index) + "/current_link_width", std::to_string(width));
    write(pci_folder(index) + "/max_link_width", "16");
    write(pci_folder(index) + "/current_link_speed", speed);
    write(pci_folder(index) + "/max_link_speed", "32.0 GT/s PCIe");
  }
  void set_slot(int index, int width, const std::string& speed) {
    write(port_folder(index) + "/max_link_width", std::to_string(width));
    write(port_folder(index) + "/max_link_speed", speed);
  }
};

TEST_F(GpuPcieLink, a_sound_machine_gives_no_finding) {
  EXPECT_THAT(look(kGpuPcieLink), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("sysfs", "nvml"));
}

TEST_F(GpuPcieLink, fewer_lanes_than_possible_are_a_fault_also_at_idle) {
  set_link(1, 8, "32.0 GT/s PCIe");
  set(1, "utilization", Value{0.0});
  EXPECT_THAT(look(kGpuPcieLink), ElementsAre(gpu(1) + " degraded pcie_width_low"));
  EXPECT_THAT(findings_[0].message, HasSubstr("8 PCIe lanes, it supports 16"));
}

TEST_F(GpuPcieLink, a_narrow_slot_is_no_fault_of_the_link) {
  for (int i = 0; i < 4; ++i) {
    set_link(i, 8, "32.0 GT/s PCIe");
    set_slot(i, 8, "32.0 GT/s PCIe");
  }
  EXPECT_THAT(look(kGpuPcieLink), IsEmpty());
}

TEST_F(GpuPcieLink, a_slot_that_can_do_less_than_those_of_the_siblings_is_named) {
  set_link(2, 8, "32.0 GT/s PCIe");
  set_slot(2, 8, "32.0 GT/s PCIe");
  EXPECT_THAT(look(kGpuPcieLink), ElementsAre(gpu(2) + " degraded pcie_sibling_differs"));
}

TEST_F(GpuPcieLink, a_sleeping_gpu_may_slow_its_link_down_and_a_busy_one_may_not) {
  set(0, "pcie.generation", 1);
  set(0, "performance_state", 8);
  set(0, "utilization", Value{0.0});
  EXPECT_THAT(look(kGpuPcieLink), IsEmpty());
  set(0, "performance_state", 0);
  EXPECT_THAT(look(kGpuPcieLink), IsEmpty()) << "awake, but without work";
  set(0, "utilization", Value{0.8});
  EXPECT_THAT(look(kGpuPcieLink), ElementsAre(gpu(0) + " degraded pcie_generation_low"));
}

TEST_F(GpuPcieLink, replays_are_compared_with_what_lanes_and_generation_allow) {
  look(kGpuPcieLink);
  set(0, "pcie.replays", 20);  // allowed: 1.92 * 16 lanes, rounded up: 31 per minute
  EXPECT_THAT(look(kGpuPcieLink, 60s), IsEmpty());
  set(0, "pcie.replays", 100);
  EXPECT_THAT(look(kGpuPcieLink, 60s), ElementsAre(gpu(0) + " degraded pcie_replays"));
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "threshold"), Value{31.0});
}

TEST_F(GpuPcieLink, errors_are_counted_at_every_hop_and_the_worst_is_named) {
  write(pci_folder(3) + "/aer_dev_fatal", "TOTAL_ERR_FATAL 5");
  write(port_folder(3) + "/aer_dev_fatal", "TOTAL_ERR_FATAL 0");
  write(port_folder(3) + "/aer_dev_correctable", "RxErr 1000\nTOTAL_ERR_COR 1000");
  EXPECT_THAT(look(kGpuPcieLink), IsEmpty()) << "old errors are no news";
  write(port_folder(3) + "/aer_dev_fatal", "TOTAL_ERR_FATAL 2");
  write(port_folder(3) + "/aer_dev_correctable", "RxErr 1900\nTOTAL_ERR_COR 1900");
  EXPECT_THAT(look(kGpuPcieLink, 60s),
              ElementsAre(gpu(3) + " degraded pcie_aer_fatal", gpu(3) + " degraded pcie_aer_correctable"));
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "hop"), Value{std::string("0000:00:03.0")});
}

TEST_F(GpuPcieLink, errors_that_only_the_driver_counts_are_errors_too) {
  for (const char* counter : {"pcie.fatal", "pcie.nonfatal", "pcie.correctable", "pcie.lcrc_errors"})
    set(1, counter, 7);
  EXPECT_THAT(look(kGpuPcieLink), IsEmpty()) << "old errors are no news";
  set(1, "pcie.fatal", 8);
  set(1, "pcie.nonfatal", 9);
  set(1, "pcie.correctable", 1007);
  set(1, "pcie.lcrc_errors", 907);
  EXPECT_THAT(look(kGpuPcieLink, 60s),
              ElementsAre(gpu(1) + " degraded pcie_aer_fatal", gpu(1) + " degraded pcie_aer_nonfatal",
                          gpu(1) + " degraded pcie_aer_correctable"));
  EXPECT_THAT(findings_[2].message, HasSubstr("it counted 1000 PCIe errors per minute"));
  EXPECT_EQ(*find_attribute(findings_[2].evidence, "lcrcErrors"), Value{900.0});
}

TEST_F(GpuPcieLink, without_a_driver_sysfs_still_sees_the_width) {
  gpus_.report.state = host::DriverState::unresponsive;
  set_link(1, 4, "32.0 GT/s PCIe");
  EXPECT_THAT(look(kGpuPcieLink), ElementsAre(gpu(1) + " degraded pcie_width_low"));
  EXPECT_THAT(witnesses_, ElementsAre("sysfs"));
}

TEST_F(GpuPcieLink, a_gpu_that_reads_as_all_ones_is_unknown) {
  set_link(1, 63, "Unknown");
  gpus_.report.gpus[1].state = host::GpuState::lost;
  gpus_.report.gpus[1].readings.clear();
  EXPECT_THAT(look(kGpuPcieLink), ElementsAre(gpu(1) + " unknown could_not_look"));
  EXPECT_THAT(findings_[0].message, HasSubstr("lost"));
}

}  // namespace
}  // namespace autopilot::checks
