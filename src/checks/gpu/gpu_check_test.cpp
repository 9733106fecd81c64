// SPDX-License-Identifier: Apache-2.0
#include "checks/gpu/gpu_check.hpp"

#include "checks/gpu/gpu_check_fixture.hpp"

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
}  // namespace autopilot::checks
