// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/record_effects.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "checks/kernel_log/driver_events.hpp"

namespace autopilot::checks {

namespace {

host::KernelRecord kernel_line(const std::string& text, int facility = 0) {
  host::KernelRecord result;
  result.facility = facility;
  result.text = text;
  result.time.wall = WallTime{std::chrono::hours{500'000}};
  return result;
}

Findings signs_of(std::vector<host::KernelRecord> records) {
  host::KernelRecords log;
  log.records = std::move(records);
  log.witness = "/dev/kmsg";
  return symptoms_in(collect_driver_events(log).events, catalog::builtin());
}

TEST(RecordSigns, a_fault_of_a_program_is_a_sign_with_its_process_and_no_finding) {
  const auto signs =
      signs_of({kernel_line("NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, name=python, Ch 00000010, intr 0")});
  ASSERT_EQ(signs.size(), 1U);
  EXPECT_EQ(signs[0].health, Health::healthy);
  EXPECT_EQ(signs[0].reason, "xid_app");
  EXPECT_EQ(to_string(signs[0].subject), "gpu/0000:3b:00.0");
  EXPECT_EQ(to_string(*find_attribute(signs[0].evidence, "pid")), "4711");
  EXPECT_EQ(to_string(*find_attribute(signs[0].evidence, "process")), "python");
  EXPECT_EQ(signs[0].since, WallTime{std::chrono::hours{500'000}});
}

TEST(RecordSigns, a_code_that_nobody_knows_is_a_sign_of_class_unknown) {
  const auto signs = signs_of({kernel_line("NVRM: Xid (PCI:0000:3b:00): 999, pid=1, name=a, something new")});
  ASSERT_EQ(signs.size(), 1U);
  EXPECT_EQ(signs[0].reason, "xid_unknown");
}

TEST(RecordSigns, a_code_that_makes_a_finding_has_the_health_of_that) {
  const auto signs =
      signs_of({kernel_line("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=a, GPU has fallen off the bus."),
                kernel_line("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to "
                            "0x1 (GPU Reset Required)")});
  ASSERT_EQ(signs.size(), 1U) << "a verdict is no error";
  EXPECT_EQ(signs[0].health, Health::failed);
  EXPECT_EQ(signs[0].reason, "gpu_fallen_off_bus");
}

TEST(RecordSigns, a_pcie_error_line_about_a_gpu_is_a_sign) {
  Observation line;
  line.name = "pcie.aer";
  line.value = line.name;
  line.attributes = {{"fromKernel", true}, {"line", std::string("pcieport ...: AER: ...")}};
  EXPECT_TRUE(symptoms_in({line}, catalog::builtin()).empty()) << "about the host";
  line.subject = {.kind = SubjectKind::gpu, .key = "0000:3b:00.0", .index = {}, .uuid = {}, .serial = {}};
  const auto signs = symptoms_in({line}, catalog::builtin());
  ASSERT_EQ(signs.size(), 1U);
  EXPECT_EQ(signs[0].reason, "pcie_error_line");
  EXPECT_EQ(signs[0].health, Health::healthy);
}

TEST(RecordSigns, what_user_space_wrote_is_no_sign) {
  EXPECT_TRUE(signs_of({kernel_line("NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, name=python, Ch 00000010", 1)})
                  .empty());
}

using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kLoaded =
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.161.08  Tue Mar  5 22:42:15 UTC 2024";
constexpr const char* kTakenBack =
    "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 "
    "(None)";

std::vector<std::string> resets(const std::string& text, int facility = 0, bool injected = false) {
  host::KernelRecords log;
  log.witness = "/dev/kmsg";
  host::KernelRecord& record = log.records.emplace_back();
  record.text = text;
  record.facility = facility;
  record.injected = injected;
  std::vector<std::string> found;
  for (const Subject& gpu : resets_in(collect_driver_events(log).events))
    found.push_back(to_string(gpu));
  return found;
}

TEST(ResetEvidence, a_loaded_driver_is_a_reset_of_everything_it_drives) {
  EXPECT_THAT(resets(kLoaded), ElementsAre("host"));
}

TEST(ResetEvidence, a_verdict_that_is_taken_back_is_a_reset_of_that_gpu) {
  EXPECT_THAT(resets(kTakenBack), ElementsAre("gpu/0000:3b:00.0"));
}

TEST(ResetEvidence, a_verdict_that_asks_for_something_and_any_other_error_are_none) {
  EXPECT_THAT(resets("NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 "
                     "(GPU Reset Required)"),
              IsEmpty());
  EXPECT_THAT(resets("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=x, GPU has fallen off the bus."),
              IsEmpty());
}

TEST(ResetEvidence, what_user_space_wrote_or_somebody_injected_resets_nothing_real) {
  for (const char* line : {kLoaded, kTakenBack}) {
    EXPECT_THAT(resets(line, 1), IsEmpty());
    EXPECT_THAT(resets(line, 0, true), IsEmpty());
  }
}

class TakenBackTest : public testing::Test {
 protected:
  void told(int code, const std::string& address = "0000:3b:00", int facility = 0, bool injected = false) {
    host::KernelRecord& record = log_.records.emplace_back();
    record.sequence = log_.records.size();
    record.time.mono = MonoTime{std::chrono::seconds{static_cast<int>(log_.records.size())}};
    record.facility = facility;
    record.injected = injected;
    record.text = "NVRM: Xid (PCI:" + address + "): " + std::to_string(code) + ", power smoothing";
  }
  [[nodiscard]] std::size_t retractions() const {
    return retractions_in(collect_driver_events(log_).events, catalog::builtin()).size();
  }
  // Whether the first record is over by the last one.
  [[nodiscard]] bool is_first_over() const {
    const Observations events = collect_driver_events(log_).events;
    return is_retracted(events.front(), retractions_by(events.back(), catalog::builtin()));
  }

  host::KernelRecords log_;
};

TEST_F(TakenBackTest, power_smoothing_that_works_again_ends_what_was_said_before) {
  told(163);
  told(162);
  EXPECT_TRUE(is_first_over());
  EXPECT_EQ(retractions(), 1U);
}

TEST_F(TakenBackTest, what_is_told_again_later_stands) {
  told(162);
  told(163);
  EXPECT_FALSE(is_first_over());
  EXPECT_EQ(retractions(), 0U);
}

TEST_F(TakenBackTest, another_gpu_and_another_error_are_not_meant) {
  told(163);
  told(162, "0000:5e:00");
  EXPECT_FALSE(is_first_over());
  log_.records.clear();
  told(54);
  told(162);
  EXPECT_FALSE(is_first_over());
}

TEST_F(TakenBackTest, what_user_space_wrote_takes_nothing_back) {
  told(163);
  told(162, "0000:3b:00", 1);
  EXPECT_FALSE(is_first_over());
  EXPECT_EQ(retractions(), 0U);
}

TEST_F(TakenBackTest, a_drill_ends_only_its_own_fault) {
  told(163);
  told(162, "0000:3b:00", 1, true);
  EXPECT_FALSE(is_first_over());
  EXPECT_EQ(retractions(), 0U);
  log_.records.clear();
  told(163, "0000:3b:00", 1, true);
  told(162, "0000:3b:00", 1, true);
  EXPECT_TRUE(is_first_over());
}

}  // namespace

}  // namespace autopilot::checks
