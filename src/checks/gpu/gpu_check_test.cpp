// SPDX-License-Identifier: Apache-2.0
#include "checks/gpu/gpu_check.hpp"

#include "tests/support/checks/gpu_check_fixture.hpp"

namespace autopilot::checks {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

// What holds for every check that needs the driver, shown with one of them.
TEST_F(GpuCheckTest, a_machine_without_a_gpu_is_unsupported_and_the_driver_is_not_asked) {
  for (const Check* check :
       {&kGpuRowRemap, &kGpuEcc, &kGpuThrottle, &kGpuTemperature, &kGpuNvlink, &kGpuPcieLink, &kGpuDriver})
    EXPECT_THAT(look(*check), ElementsAre("error unsupported")) << check->info.id;
  EXPECT_THAT(look(kGpuPresent), ElementsAre("host unsupported not_present"));
  EXPECT_EQ(gpus_.reads, 0);
}

TEST_F(GpuCheckTest, a_driver_that_does_not_work_is_an_error_with_its_cause) {
  add(0);
  for (const auto& [state, code] : {std::pair(host::DriverState::unresponsive, Errc::timed_out),
                                    std::pair(host::DriverState::no_permission, Errc::denied),
                                    std::pair(host::DriverState::exhausted, Errc::exhausted),
                                    std::pair(host::DriverState::library_missing, Errc::unavailable),
                                    std::pair(host::DriverState::crashed, Errc::unavailable)}) {
    gpus_.report.state = state;
    const auto observed = observe(kGpuEcc);
    ASSERT_FALSE(observed);
    EXPECT_EQ(observed.error().code, code);
    EXPECT_THAT(observed.error().what, HasSubstr(std::string(to_string(state))));
  }
}

TEST_F(GpuCheckTest, the_driver_must_answer_before_the_deadline_of_the_round) {
  add(0);
  set_flag(0, "row_remap.pending", false);
  look(kGpuRowRemap);
  EXPECT_LT(gpus_.last_deadline, empty_.clock.now().mono + 9s);
  EXPECT_GT(gpus_.last_deadline, empty_.clock.now().mono + 5s);
}

TEST_F(GpuCheckTest, a_value_that_a_reading_cannot_have_reaches_no_judge) {
  const std::vector<std::pair<std::string, Value>> impossible{
      {"row_remap.banks_none", std::int64_t{4294967295}},
      {"row_remap.banks_none", std::int64_t{-1}},
      {"row_remap.uncorrectable", 1e300},
      {"row_remap.uncorrectable", std::string("many")},
      {"row_remap.failed", std::int64_t{4294967295}},
      {"row_remap.unrepairable", std::int64_t{2}}};
  add(0);
  for (const auto& [name, value] : impossible) {
    gpus_.report.gpus[0].readings.clear();
    set_flag(0, "row_remap.pending", false);
    set(0, name, value);
    const auto observed = observe(kGpuRowRemap);
    ASSERT_TRUE(observed);
    const auto refused = std::ranges::find_if(
        observed->observations, [&name](const Observation& one) { return one.name.text() == name; });
    ASSERT_NE(refused, observed->observations.end());
    EXPECT_FALSE(refused->value);
    EXPECT_EQ(refused->missing.text(), "malformed");
    EXPECT_THAT(to_string(refused->attributes.at(0).second), HasSubstr(name + " is " + to_string(value)));
    EXPECT_THAT(look(kGpuRowRemap), IsEmpty());
  }
}

TEST_F(GpuCheckTest, a_gpu_that_cannot_be_read_is_unknown_never_healthy) {
  for (int i = 0; i < 5; ++i) {
    add(i);
    set_flag(i, "row_remap.pending", false);
    set_flag(i, "row_remap.failed", false);
  }
  gpus_.report.gpus[1].state = host::GpuState::lost;
  gpus_.report.gpus[1].readings.clear();
  set(2, "row_remap.pending", std::nullopt, 999);
  set(2, "row_remap.failed", std::nullopt, 999);
  set(3, "row_remap.pending", std::nullopt, 3);
  set(3, "row_remap.failed", std::nullopt, 3);
  gpus_.report.gpus[4].readings.clear();
  EXPECT_THAT(look(kGpuRowRemap),
              ElementsAre(gpu(1) + " unknown could_not_look", gpu(2) + " unknown could_not_look",
                          gpu(3) + " unsupported not_supported", gpu(4) + " unknown could_not_look"));
  EXPECT_THAT(findings_[1].message, HasSubstr("nvml_999"));
}

TEST_F(GpuCheckTest, what_no_gpu_offers_makes_the_check_unsupported) {
  for (int i = 0; i < 2; ++i) {
    add(i);
    set(i, "row_remap.pending", std::nullopt, -1);
    set(i, "row_remap.failed", std::nullopt, 3);
  }
  EXPECT_THAT(look(kGpuRowRemap), ElementsAre("host unsupported not_supported"));
}

TEST_F(GpuCheckTest, a_machine_whose_pci_tree_cannot_be_read_is_still_looked_at_by_the_driver) {
  add_to_driver(0);
  set_flag(0, "row_remap.pending", true);
  write("/sys/bus/pci/devices/0000:10:00.0/vendor", "garbage");
  EXPECT_THAT(look(kGpuRowRemap), ElementsAre(gpu(0) + " degraded row_remap_pending"));
}

// ---- gpu.row_remap
// ------------------------------------------------------------------------------------------

TEST_F(GpuCheckTest, row_remap_pending_waits_for_a_reset_and_failed_is_for_replacement) {
  for (int i = 0; i < 4; ++i) {
    add(i);
    set_flag(i, "row_remap.pending", i == 1);
    set_flag(i, "row_remap.failed", i == 2);
    set(i, "row_remap.uncorrectable", i == 3 ? 512 : 4);
    set(i, "row_remap.banks_none", i == 3 ? 1 : 0);
  }
  EXPECT_THAT(
      look(kGpuRowRemap),
      ElementsAre(gpu(1) + " degraded row_remap_pending", gpu(2) + " failed row_remap_failed",
                  gpu(3) + " failed row_remap_limit", gpu(3) + " degraded row_remap_banks_exhausted"));
  EXPECT_EQ(findings_[0].action, Action::drain_then_reset_gpu);
  EXPECT_EQ(findings_[1].action, Action::replace);
  EXPECT_THAT(witnesses_, ElementsAre("nvml"));
}

// ---- gpu.ecc
// ------------------------------------------------------------------------------------------------

class EccTest : public GpuCheckTest {
 protected:
  void SetUp() override {
    add(0);
    set_flag(0, "ecc.enabled", true);
    set(0, "ecc.volatile_uncorrected", 0);
    set(0, "ecc.volatile_corrected", 0);
    set_flag(0, "ecc.sram_threshold_exceeded", false);
  }
};

TEST_F(EccTest, a_sound_gpu_gives_no_finding) {
  EXPECT_THAT(look(kGpuEcc), IsEmpty());
}

TEST_F(EccTest, uncorrected_errors_ask_for_a_reset_and_sram_beyond_its_limit_for_replacement) {
  set(0, "ecc.volatile_uncorrected", 2);
  set(0, "ecc.dram_volatile_uncorrected", 2);
  set_flag(0, "ecc.sram_threshold_exceeded", true);
  EXPECT_THAT(look(kGpuEcc),
              ElementsAre(gpu(0) + " failed ecc_uncorrected", gpu(0) + " failed ecc_sram_threshold"));
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "dram"), Value{2.0});
}

TEST_F(EccTest, corrected_errors_are_judged_by_rate_and_never_fail_a_gpu) {
  set(0, "ecc.volatile_corrected", 5'000'000);
  EXPECT_THAT(look(kGpuEcc), IsEmpty()) << "an old total alone is no rate";
  set(0, "ecc.volatile_corrected", 5'000'050);
  EXPECT_THAT(look(kGpuEcc, 60s), IsEmpty());
  set(0, "ecc.volatile_corrected", 5'010'000);
  EXPECT_THAT(look(kGpuEcc, 60s), ElementsAre(gpu(0) + " degraded ecc_corrected_rate"));
  set(0, "ecc.volatile_corrected", 30'000'000);
  look(kGpuEcc, 60s);
  EXPECT_THAT(look(kGpuEcc, 700s), ElementsAre(gpu(0) + " degraded ecc_corrected_total"));
}

TEST_F(EccTest, ecc_switched_off_is_seen_where_the_model_has_it) {
  set_flag(0, "ecc.enabled", false);
  set(0, "ecc.volatile_uncorrected", std::nullopt, 3);
  EXPECT_THAT(look(kGpuEcc), ElementsAre(gpu(0) + " degraded ecc_disabled"));
  gpus_.report.gpus[0].name = "NVIDIA GeForce of a friend";
  EXPECT_THAT(look(kGpuEcc), ElementsAre(gpu(0) + " unsupported not_supported"));
}

TEST_F(EccTest, a_counter_that_cannot_be_read_is_unknown_though_ecc_is_on) {
  set(0, "ecc.volatile_uncorrected", std::nullopt, 999);
  EXPECT_THAT(look(kGpuEcc), ElementsAre(gpu(0) + " unknown could_not_look"));
}

TEST_F(EccTest, retired_pages_of_older_gpus_are_counted) {
  set(0, "retired_pages.single_bit", 10);
  set(0, "retired_pages.double_bit", 16);
  set_flag(0, "retired_pages.pending", true);
  EXPECT_THAT(look(kGpuEcc), ElementsAre(gpu(0) + " degraded retired_pages_many",
                                         gpu(0) + " degraded retired_pages_pending"));
  set(0, "retired_pages.single_bit", 47);
  set_flag(0, "retired_pages.pending", false);
  EXPECT_THAT(look(kGpuEcc), ElementsAre(gpu(0) + " failed retired_pages_exhausted"));
}

// ---- gpu.temperature
// ----------------------------------------------------------------------------------------

TEST_F(GpuCheckTest, temperature_is_judged_by_the_margin_of_the_board) {
  add(0);
  set(0, "temperature.gpu", 91);
  set(0, "temperature.margin", 1);
  EXPECT_THAT(look(kGpuTemperature), IsEmpty()) << "hot, but within what the board is built for";
  set(0, "temperature.margin", 0);
  EXPECT_THAT(look(kGpuTemperature), ElementsAre(gpu(0) + " degraded gpu_too_hot"));
  EXPECT_EQ(*find_attribute(findings_[0].evidence, "celsius"), Value{91.0});
}

TEST_F(GpuCheckTest, an_older_gpu_is_judged_by_its_slowdown_temperature) {
  add(0);
  set(0, "temperature.gpu", 88);
  set(0, "temperature.margin", std::nullopt, -1);
  set(0, "temperature.slowdown", 90);
  EXPECT_THAT(look(kGpuTemperature), IsEmpty());
  set(0, "temperature.gpu", 90);
  EXPECT_THAT(look(kGpuTemperature), ElementsAre(gpu(0) + " degraded gpu_too_hot"));
}

TEST_F(GpuCheckTest, memory_temperature_needs_a_sensor_and_a_limit) {
  add(0);
  set(0, "temperature.gpu", 50);
  set(0, "temperature.margin", 40);
  set(0, "temperature.memory", 0);
  set(0, "temperature.memory_max", 95);
  EXPECT_THAT(look(kGpuTemperature), IsEmpty()) << "0 degrees is no sensor";
  set(0, "temperature.memory", 96);
  EXPECT_THAT(look(kGpuTemperature), ElementsAre(gpu(0) + " degraded gpu_memory_too_hot"));
}

TEST_F(GpuCheckTest, a_temperature_without_any_limit_is_no_verdict) {
  add(0);
  set(0, "temperature.gpu", 50);
  EXPECT_THAT(look(kGpuTemperature), ElementsAre(gpu(0) + " unsupported not_supported"));
}

// ---- gpu.driver
// ---------------------------------------------------------------------------------------------

TEST_F(GpuCheckTest, the_first_silence_of_the_driver_is_unknown_as_well) {
  add(0);
  EXPECT_THAT(look(kGpuDriver), IsEmpty());
  gpus_.report.state = host::DriverState::unresponsive;
  EXPECT_THAT(look(kGpuDriver), ElementsAre("host failed driver_unresponsive", "host unknown timed_out"));
  EXPECT_THAT(look(kGpuDriver), ElementsAre("host failed driver_unresponsive"));
  gpus_.report.state = host::DriverState::ok;
  EXPECT_THAT(look(kGpuDriver), IsEmpty());
}

TEST_F(GpuCheckTest, without_a_look_at_the_pci_tree_no_library_is_missed) {
  std::filesystem::remove_all(folder_.path() + "/sys");
  gpus_.report.state = host::DriverState::library_missing;
  const auto observed = observe(kGpuDriver);
  ASSERT_FALSE(observed);
  EXPECT_NE(observed.error().code, Errc::unsupported);
  EXPECT_THAT(observed.error().what, HasSubstr("/sys/bus/pci"));
}

TEST_F(GpuCheckTest, each_state_of_the_driver_has_its_own_reason) {
  add(0);
  write("/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 24 22:55:48 UTC 2024");
  EXPECT_THAT(look(kGpuDriver), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("nvml", "/proc/driver/nvidia/version"));
  EXPECT_EQ(history_.word(host_subject(), "driver.module_version"), "535.161.08");
  gpus_.report.detail = "the cause";
  for (const auto& [state, line] :
       {std::pair(host::DriverState::library_missing, "host unknown library_missing"),
        std::pair(host::DriverState::library_broken, "host degraded library_broken"),
        std::pair(host::DriverState::driver_not_loaded, "host failed driver_not_loaded"),
        std::pair(host::DriverState::version_mismatch, "host failed driver_version_mismatch"),
        std::pair(host::DriverState::no_permission, "host unknown no_permission"),
        std::pair(host::DriverState::init_failed, "host failed driver_init_failed"),
        std::pair(host::DriverState::crashed, "host degraded driver_crashed"),
        std::pair(host::DriverState::exhausted, "host failed helpers_exhausted")}) {
    gpus_.report.state = state;
    EXPECT_THAT(look(kGpuDriver), ElementsAre(line));
    EXPECT_THAT(findings_[0].message, HasSubstr("the cause"));
  }
}

TEST_F(GpuCheckTest, a_repair_that_waits_is_told_and_what_cannot_be_repaired_fails) {
  for (int i = 0; i < 3; ++i) {
    add(i);
    set_flag(i, "row_remap.pending", false);
  }
  set_flag(0, "repair.channel_pending", true);
  set_flag(1, "repair.tpc_pending", true);
  set_flag(2, "row_remap.unrepairable", true);
  EXPECT_THAT(look(kGpuRowRemap),
              ElementsAre(gpu(0) + " degraded repair_pending", gpu(1) + " degraded repair_pending",
                          gpu(2) + " failed row_remap_unrepairable"));
  EXPECT_EQ(findings_[0].action, Action::drain_then_reset_gpu);
}

}  // namespace

// AMD's GPUs through the checks that know GPUs of both vendors; the files are those of amdgpu.

namespace {

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
