// SPDX-License-Identifier: Apache-2.0
#include "checks/kernel_log/record_signs.hpp"

#include <gtest/gtest.h>

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
  return signs_in(collect_driver_events(log).events, catalog::builtin());
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
  EXPECT_TRUE(signs_in({line}, catalog::builtin()).empty()) << "about the host";
  line.subject = {.kind = SubjectKind::gpu, .key = "0000:3b:00.0", .index = {}, .uuid = {}, .serial = {}};
  const auto signs = signs_in({line}, catalog::builtin());
  ASSERT_EQ(signs.size(), 1U);
  EXPECT_EQ(signs[0].reason, "pcie_error_line");
  EXPECT_EQ(signs[0].health, Health::healthy);
}

TEST(RecordSigns, what_user_space_wrote_is_no_sign) {
  EXPECT_TRUE(signs_of({kernel_line("NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, name=python, Ch 00000010", 1)})
                  .empty());
}

}  // namespace
}  // namespace autopilot::checks
