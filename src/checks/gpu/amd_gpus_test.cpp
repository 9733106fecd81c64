// SPDX-License-Identifier: Apache-2.0
// AMD's GPUs through the checks that know GPUs of both vendors; the files are those of amdgpu.
#include "checks/gpu/gpu_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AmdGpuChecks : public GpuCheckTest {
 protected:
  static std::string amd_address(int index) { return "0000:" + std::to_string(50 + index) + ":00.0"; }
  static std::string amd_gpu(int index) { return "gpu/" + amd_address(index); }

  // Behind a port of its own; `driver` empty: none has it.
  void add_amd(int index, const std::string& driver = "amdgpu") {
    const std::string port = "/sys/devices/pci0000:40/0000:40:0" + std::to_string(index) + ".0";
    const std::string device = port + "/" + amd_address(index);
    folders_.push_back(device);
    write(port + "/vendor", "0x1022");
    folder_.link("/sys/bus/pci/devices" + port.substr(port.rfind('/')), port);
    write(device + "/vendor", "0x1002");
    write(device + "/device", "0x74a1");
    write(device + "/class", "0x120000");
    folder_.link("/sys/bus/pci/devices/" + amd_address(index), device);
    for (const std::string& folder : {port, device})
      for (const auto& [file, text] : kLink)
        write(std::string(folder).append("/").append(file), text);
    if (driver.empty()) return;
    write("/sys/module/amdgpu/initstate", "live");
    write("/sys/bus/pci/drivers/" + driver + "/module", "");
    folder_.link(device + "/driver", "/sys/bus/pci/drivers/" + driver);
    set_amd(index, "ras/aca_umc", "ue: 0\nce: 0\nde: 0");
    set_amd(index, "hwmon/hwmon4/name", "amdgpu");
    set_amd(index, "hwmon/hwmon4/temp2_label", "junction");
    set_amd(index, "hwmon/hwmon4/temp2_input", "45000");
    set_amd(index, "hwmon/hwmon4/temp2_crit", "100000");
    set_amd(index, "hwmon/hwmon4/power1_cap", "750000000");
    set_amd(index, "hwmon/hwmon4/power1_cap_default", "750000000");
  }
  void set_amd(int index, const std::string& file, const std::string& text) const {
    write(folders_.at(static_cast<std::size_t>(index)) + "/" + file, text);
  }

  static constexpr std::array<std::pair<const char*, const char*>, 4> kLink{
      {{"current_link_speed", "32.0 GT/s PCIe"},
       {"max_link_speed", "32.0 GT/s PCIe"},
       {"current_link_width", "16"},
       {"max_link_width", "16"}}};
  std::vector<std::string> folders_;
};

TEST_F(AmdGpuChecks, a_healthy_machine_is_healthy_and_nobody_asks_nvidia) {
  for (int i = 0; i < 3; ++i)
    add_amd(i);
  for (const Check* check :
       {&kGpuPresent, &kGpuDriver, &kGpuEcc, &kGpuTemperature, &kGpuPcieLink, &kGpuPower})
    EXPECT_THAT(look(*check), IsEmpty()) << check->info.id;
  EXPECT_EQ(gpus_.reads, 0);
  EXPECT_THAT(witnesses_, ElementsAre("amdgpu"));
}

TEST_F(AmdGpuChecks, checks_of_what_only_nvidia_has_are_unsupported) {
  add_amd(0);
  for (const Check* check : {&kGpuRowRemap, &kGpuNvlink, &kGpuFabric, &kGpuInforom, &kGpuPersistence})
    EXPECT_THAT(look(*check), ElementsAre("error unsupported")) << check->info.id;
}

TEST_F(AmdGpuChecks, errors_of_any_block_are_a_fault_and_bad_pages_are_told_by_what_became_of_them) {
  add_amd(0);
  add_amd(1);
  set_amd(0, "ras/aca_gfx", "ue: 2\nce: 0\nde: 0");
  std::string rows;
  for (int i = 0; i < 129; ++i)
    rows += "0x0001a2b0 : 0x00001000 : R\n";
  set_amd(1, "ras/gpu_vram_bad_pages", rows + "0x0001a2b1 : 0x00001000 : P\n0x0001a2b2 : 0x00001000 : F");
  EXPECT_THAT(
      look(kGpuEcc),
      ElementsAre(amd_gpu(0) + " failed ecc_chip_uncorrected", amd_gpu(1) + " degraded bad_pages_pending",
                  amd_gpu(1) + " degraded bad_pages_unreserved", amd_gpu(1) + " degraded bad_pages_many"));
}

TEST_F(AmdGpuChecks, counters_that_cannot_be_read_at_the_moment_are_not_zero) {
  add_amd(0);
  set_amd(0, "ras/aca_umc", "Query currently inaccessible");
  EXPECT_THAT(look(kGpuEcc), ElementsAre(amd_gpu(0) + " unknown could_not_look"));
  EXPECT_THAT(findings_[0].message, HasSubstr("could not be read"));
}

TEST_F(AmdGpuChecks, a_list_of_bad_pages_that_makes_no_sense_is_not_an_empty_one) {
  add_amd(0);
  set_amd(0, "ras/gpu_vram_bad_pages", "\x01garbage");
  EXPECT_THAT(look(kGpuEcc), ElementsAre(amd_gpu(0) + " unknown could_not_look"));
  EXPECT_THAT(findings_[0].message, HasSubstr("bad memory pages"));
}

TEST_F(AmdGpuChecks, a_gpu_without_error_counters_is_unsupported_beside_one_that_has_them) {
  add_amd(0);
  add_amd(1);
  std::filesystem::remove_all(folder_.path() + folders_[1] + "/ras");
  EXPECT_THAT(look(kGpuEcc), ElementsAre(amd_gpu(1) + " unsupported not_supported"));
}

TEST_F(AmdGpuChecks, errors_of_the_memory_are_told_from_those_of_the_chip) {
  add_amd(0);
  set_amd(0, "ras/aca_umc", "ue: 1\nce: 0\nde: 0");
  set_amd(0, "ras/aca_gfx", "Query currently inaccessible");
  EXPECT_THAT(look(kGpuEcc), ElementsAre(amd_gpu(0) + " failed ecc_uncorrected"));
}

TEST_F(AmdGpuChecks, bad_pages_are_told_also_where_nothing_counts_errors) {
  add_amd(0);
  std::filesystem::remove(folder_.path() + folders_[0] + "/ras/aca_umc");
  set_amd(0, "ras/gpu_vram_bad_pages", "0x0001a2b1 : 0x00001000 : P");
  EXPECT_THAT(look(kGpuEcc), ElementsAre(amd_gpu(0) + " degraded bad_pages_pending"));
}

TEST_F(AmdGpuChecks, a_gpu_that_is_silent_for_one_look_may_be_in_a_reset) {
  add_amd(0);
  EXPECT_THAT(look(kGpuPresent), IsEmpty());
  set_amd(0, "config", std::string(64, '\xff'));
  EXPECT_THAT(look(kGpuPresent), ElementsAre(amd_gpu(0) + " unknown could_not_look"));
  EXPECT_THAT(look(kGpuPresent), ElementsAre(amd_gpu(0) + " failed gpu_lost"));
}

TEST_F(AmdGpuChecks, gpus_that_all_belong_to_others_are_unsupported) {
  add_amd(0, "vfio-pci");
  EXPECT_THAT(look(kGpuTemperature), ElementsAre("error unsupported"));
}

TEST_F(AmdGpuChecks, garbage_in_the_pci_tree_is_not_the_absence_of_a_gpu) {
  add_amd(0);
  set_amd(0, "class", "what");
  expectation_.gpu_count = 1;
  for (const Check* check : {&kGpuPresent, &kGpuDriver, &kGpuEcc})
    EXPECT_THAT(look(*check), ElementsAre("error malformed")) << check->info.id;
}

TEST_F(AmdGpuChecks, memory_that_a_screen_uses_has_no_owner_and_is_no_fault) {
  add_amd(0);
  set_amd(0, "mem_info_vram_total", "1000");
  set_amd(0, "mem_info_vram_used", "500");
  write("/sys/class/kfd/kfd/topology/nodes/1/gpu_id", "7");
  write("/sys/class/kfd/kfd/topology/nodes/1/properties", "location_id 20480");
  write("/sys/class/kfd/kfd/proc/none", "");
  write("/proc/2/comm", "kthreadd");
  EXPECT_THAT(look(kGpuProcesses), IsEmpty());
}

TEST_F(AmdGpuChecks, a_gpu_that_sleeps_is_present_and_its_temperature_unknown) {
  add_amd(0);
  set_amd(0, "power/runtime_status", "suspended");
  EXPECT_THAT(look(kGpuPresent), IsEmpty());
  EXPECT_THAT(look(kGpuTemperature), ElementsAre(amd_gpu(0) + " unknown could_not_look"));
  EXPECT_THAT(findings_[0].message, HasSubstr("asleep"));
}

TEST_F(AmdGpuChecks, lost_unused_and_given_away_gpus_are_told_apart) {
  add_amd(0);
  add_amd(1);
  add_amd(2, "vfio-pci");
  add_amd(3, "");
  set_amd(1, "config", std::string(64, '\xff'));
  EXPECT_THAT(look(kGpuPresent),
              ElementsAre(amd_gpu(1) + " failed gpu_lost", amd_gpu(2) + " unsupported gpu_not_used_here",
                          amd_gpu(3) + " failed gpu_missing"));
}

TEST_F(AmdGpuChecks, a_module_that_is_not_loaded_is_the_drivers_fault_not_the_gpus) {
  add_amd(0, "");
  EXPECT_THAT(look(kGpuDriver), ElementsAre("host failed driver_not_loaded"));
  EXPECT_THAT(findings_[0].message, HasSubstr("AMD"));
  EXPECT_THAT(look(kGpuPresent), IsEmpty());
}

TEST_F(AmdGpuChecks, a_link_with_too_few_lanes_is_that_of_the_slot) {
  add_amd(0);
  set_amd(0, "current_link_width", "8");
  EXPECT_THAT(look(kGpuPcieLink), ElementsAre(amd_gpu(0) + " degraded pcie_width_low"));
}

TEST_F(AmdGpuChecks, a_power_limit_below_the_factorys_is_low) {
  add_amd(0);
  set_amd(0, "hwmon/hwmon4/power1_cap", "400000000");
  EXPECT_THAT(look(kGpuPower), ElementsAre(amd_gpu(0) + " degraded power_limit_low"));
}

TEST_F(AmdGpuChecks, beside_each_other_one_vendors_silence_is_not_the_others) {
  add(0);
  add_amd(0);
  set(0, host::reading::kTemperatureMargin, 40);
  EXPECT_THAT(look(kGpuTemperature), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("nvml", "amdgpu"));
  gpus_.report.state = host::DriverState::unresponsive;
  gpus_.report.gpus.clear();
  EXPECT_THAT(look(kGpuTemperature), ElementsAre(gpu(0) + " unknown could_not_look"));
  EXPECT_THAT(witnesses_, ElementsAre("amdgpu"));
  gpus_.report.state = host::DriverState::ok;
  EXPECT_THAT(look(kGpuPresent), ElementsAre(gpu(0) + " failed gpu_missing"));
}

TEST_F(AmdGpuChecks, both_count_as_gpus_of_the_machine) {
  add(0);
  add_amd(0);
  expectation_.gpu_count = 3;
  EXPECT_THAT(look(kGpuPresent), ElementsAre("host failed gpu_count_low"));
}

}  // namespace
}  // namespace autopilot::checks
