// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "tests/support/checks/log_check_fixture.hpp"

namespace autopilot::checks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class HostReboot : public LogCheckTest {
 protected:
  HostReboot() : LogCheckTest(kHostReboot, 5min) {}
  void can_keep_records() { folder_.write("/sys/module/pstore/parameters/backend", "efi_pstore\n"); }
  void leave_record(Duration age, const std::string& text) {
    const auto written = empty_.clock.now().wall - age;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(written.time_since_epoch()).count();
    folder_.write("/sys/fs/pstore/dmesg-efi-" + std::to_string(seconds) + "01001", text);
  }
  void was_reset(const std::string& why) {
    say("x86/amd: Previous system reset reason [0x40080400]: " + why);
  }
};

TEST_F(HostReboot, nothing_is_told) {
  EXPECT_THAT(reasons(), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("/dev/kmsg"));
  can_keep_records();
  EXPECT_THAT(reasons(), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("pstore", "/dev/kmsg"));
}

TEST_F(HostReboot, the_kernel_died_and_its_record_is_told_for_three_days) {
  can_keep_records();
  leave_record(24h, "Panic#1 Part1\n<0>[ 12.0] Kernel panic - not syncing: Fatal machine check\n");
  leave_record(100h, "Panic#1 Part1\n<0>[ 12.0] Kernel panic - not syncing: another one, long ago\n");
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(reason_of(findings[0]), "degraded kernel_crash_record");
  EXPECT_EQ(findings[0].message,
            "the kernel crashed before this boot: Kernel panic - not syncing: Fatal machine check");
  EXPECT_THAT(reasons(49h), IsEmpty());
}

TEST_F(HostReboot, two_panics_are_one_finding_and_a_fault_that_was_survived_is_none) {
  can_keep_records();
  leave_record(1h, "Panic#1 Part1\n<0>[ 12.0] Kernel panic - not syncing: second\n");
  leave_record(2h, "Panic#1 Part1\n<0>[ 12.0] Kernel panic - not syncing: first\n");
  leave_record(3h, "Oops#1 Part1\n<1>[ 12.0] BUG: unable to handle page fault\n");
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0].message, HasSubstr("second (2 records)"));
}

TEST_F(HostReboot, a_record_without_a_time_is_told_until_it_is_taken_away) {
  can_keep_records();
  folder_.write("/sys/fs/pstore/dmesg-ramoops-0", "Panic#1 Part1\n");
  EXPECT_THAT(reasons(), ElementsAre("degraded kernel_crash_record"));
  EXPECT_THAT(reasons(1000h), ElementsAre("degraded kernel_crash_record"));
  std::filesystem::remove(folder_.path() + "/sys/fs/pstore/dmesg-ramoops-0");
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(HostReboot, a_hardware_error_reset_the_machine) {
  was_reset("an uncorrected error caused a data fabric sync flood event");
  const Findings findings = look();
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(reason_of(findings[0]), "degraded reset_by_hardware");
  EXPECT_THAT(findings[0].message, HasSubstr("data fabric sync flood"));
  EXPECT_THAT(reasons(73h), IsEmpty());
}

TEST_F(HostReboot, bits_that_stay_set_neither_blame_nor_excuse) {
  was_reset("software wrote 0x6 to reset control register 0xCF9");
  was_reset("a parity error occurred");
  EXPECT_THAT(reasons(), IsEmpty());
  was_reset("software wrote 0xE to reset control register 0xCF9");
  was_reset("hardware watchdog timer expired");
  EXPECT_THAT(reasons(), ElementsAre("degraded reset_by_watchdog"));
}

TEST_F(HostReboot, a_record_that_may_not_be_read_leaves_it_unknown) {
  can_keep_records();
  leave_record(1h, "Panic#1 Part1\n");
  files_ = host::Files(folder_.path(), [](std::string_view path) -> Status {
    if (path.find("dmesg-") != std::string_view::npos) return fail(Errc::denied, std::string(path));
    return {};
  });
  EXPECT_THAT(reasons(), ElementsAre("unknown not_permitted"));
}

TEST_F(HostReboot, a_record_that_cannot_be_unpacked_leaves_it_unknown) {
  can_keep_records();
  folder_.write("/sys/fs/pstore/dmesg-efi-176372640001001.enc.z", "x^\x01\x02");
  EXPECT_THAT(reasons(), ElementsAre("unknown malformed_answer"));
}

TEST_F(HostReboot, what_nobody_proved_is_shown_and_not_judged) {
  was_reset("internal CPU thermal limit was tripped");
  was_reset("internal CPU shutdown event occurred");
  was_reset("something that no kernel says yet");
  EXPECT_THAT(reasons(), IsEmpty());
  EXPECT_EQ(history_.events().size(), 3U);
}

TEST_F(HostReboot, a_record_of_the_firmware_is_of_the_boot_before_only_without_a_number) {
  say("{1}[Hardware Error]: event severity: fatal");
  EXPECT_THAT(reasons(), IsEmpty());
  say("[Hardware Error]: event severity: corrected");
  EXPECT_THAT(reasons(), IsEmpty());
  say("[Hardware Error]: event severity: fatal");
  EXPECT_THAT(reasons(), ElementsAre("degraded boot_error_record"));
}

TEST_F(HostReboot, what_user_space_writes_is_no_reason) {
  say("x86/amd: Previous system reset reason [0x02000800]: hardware watchdog timer expired", 1);
  EXPECT_THAT(reasons(), IsEmpty());
}

TEST_F(HostReboot, looks_without_the_log_and_not_without_both) {
  log_.refuse();
  EXPECT_THAT(reasons(), ElementsAre("denied"));
  can_keep_records();
  EXPECT_THAT(reasons(), IsEmpty());
  EXPECT_THAT(witnesses_, ElementsAre("pstore"));
}

}  // namespace
}  // namespace autopilot::checks
