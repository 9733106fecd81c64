// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/text_forms.hpp"

#include <gtest/gtest.h>
#include <string>

#include "tests/support/host/text_log_fixture.hpp"

namespace autopilot::host {
namespace {

struct Form {
  const char* name;
  std::string prefix;
  bool verified;
  int facility;
};

class TextLogForms : public testing::TestWithParam<Form> {};

TEST_P(TextLogForms, gives_the_message_and_who_wrote_it) {
  const auto records = read_text_log(GetParam().prefix + std::string(kLogText) + "\n");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].text, kLogText);
  EXPECT_EQ(records[0].verified, GetParam().verified);
  EXPECT_EQ(records[0].facility, GetParam().facility);
  EXPECT_EQ(records[0].sequence, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, TextLogForms,
    testing::Values(
        Form{"bare", "", false, 0}, Form{"kmsg", "3,1042,2750000123,-;", true, 0},
        Form{"kmsg_of_user", "12,1042,2750000123,-;", true, 1}, Form{"dmesg", "[ 2750.000123] ", false, 0},
        Form{"dmesg_with_caller", "[ 2750.000123][ T1234] ", false, 0},
        Form{"dmesg_with_caller_apart", "[ 2750.000123] [  T1234] ", false, 0},
        Form{"dmesg_with_processor", "[ 2750.000123] [    C3] ", false, 0},
        Form{"dmesg_raw_with_caller", "<3>[ 2750.000123] [  T1234] ", true, 0},
        Form{"dmesg_decoded_with_caller", "kern  :err   : [ 2750.000123] [  T1234] ", true, 0},
        Form{"dmesg_human_with_caller", "[Sat Nov 21 03:04:05 2026] [  T1234] ", false, 0},
        Form{"dmesg_decoded_human", "kern  :err   : [Sat Nov 21 03:04:05 2026] ", true, 0},
        Form{"dmesg_iso_with_caller", "2026-11-21T03:04:05,678901+01:00 [  T1234] ", false, 0},
        Form{"dmesg_raw", "<3>[ 2750.000123] ", true, 0},
        Form{"dmesg_with_distance", "[ 2750.000123 <    0.000012>] ", false, 0},
        Form{"dmesg_coloured", "\x1b[32m[ 2750.000123] \x1b[0m\x1b[1;31m", false, 0},
        Form{"journal_unix", "1763694245.678901 node-1 kernel: ", false, 0},
        Form{"journal_unix_of_user", "1763694245.678901 node-1 python[7]: ", false, 1},
        Form{"trace", "     kworker/0:1-123     [001] d..1.  2750.000123: ", false, 0},
        Form{"with_byte_order_mark", "\xef\xbb\xbf[ 2750.000123] ", false, 0},
        Form{"indented_raw", "  <3>[ 2750.000123] ", false, 0},
        Form{"indented_kmsg", " 3,1042,2750000123,-;", false, 0},
        Form{"indented", "    [ 2750.000123] ", false, 0}, Form{"indented_bare", "\t ", false, 0},
        Form{"dmesg_raw_of_user", "<12>[ 2750.000123] ", true, 1},
        Form{"dmesg_decoded", "kern  :err   : [ 2750.000123] ", true, 0},
        Form{"dmesg_decoded_of_user", "user  :warn  : [ 2750.000123] ", true, 1},
        Form{"dmesg_human", "[Sat Nov 21 03:04:05 2026] ", false, 0},
        Form{"dmesg_human_blank_day", "[Sat Nov  1 03:04:05 2026] ", false, 0},
        Form{"dmesg_iso", "2026-11-21T03:04:05,678901+01:00 ", false, 0},
        Form{"journal_short", "Nov 21 03:04:05 node-1 kernel: ", false, 0},
        Form{"journal_short_precise", "Nov 21 03:04:05.678901 node-1 kernel: ", false, 0},
        Form{"journal_short_iso", "2026-11-21T03:04:05+0100 node-1 kernel: ", false, 0},
        Form{"journal_short_full", "Sat 2026-11-21 03:04:05 UTC node-1 kernel: ", false, 0},
        Form{"journal_short_monotonic", "[ 2750.000123] node-1 kernel: ", false, 0},
        Form{"journal_of_a_program", "Nov 21 03:04:05 node-1 logger[77]: ", false, 1},
        Form{"syslog_with_seconds", "Nov  1 03:04:05 node-1 kernel: [ 2750.000123] ", false, 0},
        Form{"syslog_rfc3339", "2026-11-21T03:04:05.678901+01:00 node-1 kernel: [ 2750.000123] ", false, 0},
        Form{"syslog_rfc3339_utc", "2026-11-21T03:04:05.678901Z node-1 kernel: ", false, 0},
        Form{"syslog_wire", "<3>Nov 21 03:04:05 node-1 kernel: ", true, 0},
        Form{"syslog_rfc5424", "<3>1 2026-11-21T03:04:05.678901Z node-1 kernel - - - ", true, 0},
        Form{"syslog_rfc5424_data", "<14>1 2026-11-21T03:04:05Z node-1 app 7 - [a b=\"c\"] ", true, 1}),
    [](const auto& form) { return std::string(form.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Times, TextLogForms,
    testing::Values(
        Form{"dmesg_minute", "[Jan21 03:11] ", false, 0},
        Form{"dmesg_minute_blank", "[Jan 5 03:11] ", false, 0},
        Form{"dmesg_minute_of_japan", "[ 1月21 03:11] ", false, 0},
        Form{"dmesg_since_the_minute", "[  +0.000844] ", false, 0},
        Form{"dmesg_distance_alone", "[<    0.000012>] ", false, 0},
        Form{"dmesg_human_with_distance", "[Sat Nov 21 03:04:05 2026 <    0.000012>] ", false, 0},
        Form{"dmesg_human_german", "[Sa Nov 21 03:04:05 2026] ", false, 0},
        Form{"dmesg_human_french", "[sam. nov. 21 03:04:05 2026] ", false, 0},
        Form{"dmesg_human_chinese", "[六 11月 21 03:04:05 2026] ", false, 0},
        Form{"dmesg_human_japanese_blank", "[土 11月  1 03:04:05 2026] ", false, 0},
        Form{"dmesg_decoded_minute", "kern  :err   : [Jan21 03:11] ", true, 0},
        Form{"dmesg_decoded_since_the_minute", "kern  :warn  : [  +0.000012] ", true, 0},
        Form{"dmesg_decoded_iso", "kern  :err   : 2026-11-21T03:04:05,678901+01:00 ", true, 0},
        Form{"dmesg_decoded_without_time", "kern  :err   : ", true, 0},
        Form{"dmesg_decoded_daemon", "daemon:info  : [    3.000000] ", true, 3},
        Form{"dmesg_two_times", "[Sat Nov 21 03:04:05 2026] [ 2750.000123] ", false, 0},
        Form{"talos", "10.20.0.19: kern:     err: [2026-04-22T21:27:51.288000000Z]: ", true, 0},
        Form{"talos_name", "worker-7: kern: warning: [2026-04-22T21:27:51.288869094Z]: ", true, 0},
        Form{"talos_without_node", "kern:  notice: [2026-04-22T21:27:51.288869094Z]: ", true, 0},
        Form{"talos_of_user", "10.20.0.19: user: warning: [2026-04-22T21:31:01.000000000Z]: ", true, 1},
        Form{"talos_six", "fd00::7: daemon:    info: [2026-04-22T21:31:01.000000000Z]: ", true, 3},
        Form{"journal_short_german", "Dez 21 03:04:05 node-1 kernel: ", false, 0},
        Form{"journal_short_french", "févr. 21 03:04:05 node-1 kernel: ", false, 0},
        Form{"journal_short_chinese", "11月 21 03:04:05 node-1 kernel: ", false, 0},
        Form{"journal_short_delta", "[ 2750.000123 <    0.100000 >] node-1 kernel: ", false, 0},
        Form{"journal_short_delta_first", "[ 2750.000123                ] node-1 kernel: ", false, 0},
        Form{"journal_short_delta_unreliable", "[ 2750.000123 <    0.100000*>] node-1 kernel: ", false, 0},
        Form{"syslog_with_year", "Nov 21 2026 03:04:05 node-1 kernel: ", false, 0},
        Form{"syslog_with_year_in_front", "2026 Nov 21 03:04:05 node-1 kernel: ", false, 0},
        Form{"syslog_iso_with_blank", "2026-11-21 03:04:05.678 node-1 kernel: ", false, 0},
        Form{"syslog_tag_and_seconds_together", "Nov 21 03:04:05 node-1 kernel:[ 2750.000123] ", false, 0},
        Form{"busybox", "Nov 21 03:04:05 node-1 kern.err kernel: ", false, 0},
        Form{"busybox_of_user", "Nov 21 03:04:05 node-1 user.notice kernel: ", true, 1},
        Form{"logread", "Sat Nov 21 03:04:05 2026 kern.warn kernel: [ 2750.000123] ", false, 0},
        Form{"syslog_rfc5424_bare", "1 2026-11-21T03:04:05.678901Z node-1 kernel - - - ", false, 0},
        Form{"syslog_rfc5424_no_version", "2026-11-21T03:04:05Z node-1 kernel - - - ", false, 0},
        Form{"syslog_rfc5424_of_user", "1 2026-11-21T03:04:05Z node-1 kernel 4242 - - ", false, 1},
        Form{"time_of_day", "03:04:05.678 node-1 kernel: ", false, 0},
        Form{"console_with_date", "[2026-11-21 03:04:05] [ 2750.000123] ", false, 0},
        Form{"console_with_prompt", "node-1 login: [ 2750.000123] ", false, 0},
        Form{"console_erased", "\x1b[2K\x1b[?25h[ 2750.000123] ", false, 0},
        Form{"tag", "kernel: ", false, 0}, Form{"tag_and_seconds", "kernel: [16450076.435595] ", false, 0},
        Form{"tag_and_host", "node-1 kernel: ", false, 0},
        Form{"tag_twice", "Nov 21 03:04:05 node-1 kernel: kernel: ", false, 0}),
    [](const auto& form) { return std::string(form.param.name); });

INSTANTIATE_TEST_SUITE_P(
    WithoutHost, TextLogForms,
    testing::Values(Form{"short", "Nov 21 03:04:05 kernel: ", false, 0},
                    Form{"short_blank", "Nov 21 03:04:05  kernel: ", false, 0},
                    Form{"short_precise", "Nov 21 03:04:05.678901 kernel: ", false, 0},
                    Form{"short_iso", "2026-08-16T23:01:35+0800 kernel: ", false, 0},
                    Form{"short_iso_precise", "2026-08-16T23:01:35.123456+0800 kernel: ", false, 0},
                    Form{"short_full", "Sun 2026-08-16 23:01:37 CST kernel: ", false, 0},
                    Form{"short_full_precise", "Sun 2026-08-16 23:01:37.678901 CST kernel: ", false, 0},
                    Form{"short_unix", "1787151698.123456 kernel: ", false, 0},
                    Form{"short_monotonic", "[  410.728000] kernel: ", false, 0},
                    Form{"short_delta", "[  410.728000 <    0.100000 >] kernel: ", false, 0},
                    Form{"no_tag", "2026-08-16T23:01:35Z ", false, 0},
                    Form{"program", "2026-08-16T23:01:38+0800 xid-watch[77]: ", false, 1},
                    Form{"program_no_pid", "2026-08-16T23:01:39+0800 dcgm-exporter: ", false, 1},
                    Form{"program_short", "Nov 21 03:04:05 dcgm-exporter: ", false, 1}),
    [](const auto& form) { return std::string(form.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Carried, TextLogForms,
    testing::Values(Form{"pdsh", "node-7: [ 2750.000123] ", false, 0},
                    Form{"pdsh_decoded", "node-7: kern  :err   : [ 2750.000123] ", false, 0},
                    Form{"pdsh_of_user", "node-7: user  :err   : [ 2750.000123] ", false, 1},
                    Form{"pdsh_journal", "node-7: Nov 21 03:04:05 node-7 kernel: ", false, 0},
                    Form{"pdsh_journal_of_program", "node-7: Nov 21 03:04:05 node-7 watch[7]: ", false, 1},
                    Form{"grep_file", "/var/log/kern.log.1:Nov 21 03:04:05 node-7 kernel: ", false, 0},
                    Form{"grep_file_and_number", "dmesg.txt:12:[ 2750.000123] ", false, 0},
                    Form{"grep_file_of_bare", "dmesg.txt:", false, 0},
                    Form{"grep_context", "kern-2.log-12-[ 2750.000123] ", false, 0},
                    Form{"grep_number", "12:[Sat Nov 21 03:04:05 2026] ", false, 0},
                    Form{"grep_coloured",
                         "\x1b[35m\x1b[Kkern.log\x1b[m\x1b[K\x1b[36m\x1b[K:\x1b[m\x1b[K[ 2750.000123] ",
                         false, 0},
                    Form{"grep_of_kmsg", "kmsg.log:3,1042,2750000123,-;", false, 0},
                    Form{"cat_with_numbers", "    12\t[ 2750.000123] ", false, 0},
                    Form{"mail", "> [ 2750.000123] ", false, 0},
                    Form{"cri", "2026-04-22T21:27:51.288000000Z stdout F [ 2750.000123] ", false, 0},
                    Form{"cri_journal",
                         "2026-04-22T21:27:51.288+02:00 stderr P Nov 21 03:04:05 node-7 kernel: ", false, 0},
                    Form{"cri_bare", "2026-04-22T21:27:51.288000000Z stdout F ", false, 1},
                    Form{"kubectl", "[pod/log-7/dmesg] [ 2750.000123] ", false, 0},
                    Form{"kubectl_time", "2026-04-22T21:27:51.288000000Z [ 2750.000123] ", false, 0},
                    Form{"compose", "watch-1  | [ 2750.000123] ", false, 0},
                    Form{"compose_bare", "watch-1  | ", false, 1}),
    [](const auto& form) { return std::string(form.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Programs, TextLogForms,
    testing::Values(Form{"kernel_with_pid", "Sep 18 10:00:01 node1 kernel[4243]: ", false, 1},
                    Form{"kernel_with_pid_alone", "kernel[4243]: ", false, 1},
                    Form{"monotonic", "[  412.500000] node7 nv-hostengine[901]: ", false, 1},
                    Form{"monotonic_without_host", "[  412.500000] nv-hostengine[901]: ", false, 1},
                    Form{"delta", "[  411.000000 <    0.100000 >] node7 watch.py[77]: ", false, 1},
                    Form{"tag_with_pid", "python3[4242]: ", false, 1},
                    Form{"wire_of_the_kernels_facility", "<3>Jul 10 08:41:31 node1 watch: ", true, 1},
                    Form{"wire_of_a_kernel_with_pid", "<3>Jul 10 08:41:31 node1 kernel[7]: ", true, 1},
                    Form{"host_and_tag_with_pid", "node7 python3[4242]: ", false, 1}),
    [](const auto& form) { return std::string(form.param.name); });

// However a program writes its log, what it quotes is not the kernel's.
TEST(TextForms, takes_no_log_of_a_program_for_the_kernels) {
  for (const std::string prefix :
       {"I0925 10:11:12.131415       1 log_monitor.go:160] ",
        "W0710 08:41:33.123000 12345 torch/run.py:7] ",
        "time=\"2026-07-10T08:41:34Z\" level=warning msg=\"seen: ",
        "level=info ts=2026-07-10T08:41:34Z msg=",
        "2026-07-10 08:41:33,123 - watch.py - ERROR - ",
        "2026-07-10 08:41:33,123 ERROR ",
        "2026-07-10 08:41:33.123 | ERROR    | watch:run:7 - ",
        "2026-07-10T08:41:33.123Z\tERROR\twatch.go:7\t",
        "[2026-07-10T08:41:33Z ERROR watch] ",
        "[2026-07-10 08:41:33,123] [ERROR] ",
        "ERROR:root:",
        "[ERROR] ",
        "2026-07-10T08:41:33.123456Z  WARN watch: ",
        "[2026-07-10T08:41:33.123] error: ",
        "2026-07-10 08:41:33 watch.py line 7: saw ",
        "2026/07/10 08:41:33 watch.go:12: ",
        "08:41:33 INF ",
        "2026-07-10 08:41:33,123 [main] ERROR watch - ",
        "2026/07/10 08:41:33 [error] 7#7: ",
        "[Fri Jul 10 08:41:31 2026] [error] ",
        "[rank0]: ",
        "\"",
        "{\"msg\":\"",
        "2026-04-22T21:27:51.288000000Z stdout F time=\"2026-07-10T08:41:34Z\" msg=",
        "2026-04-22T21:27:51.288000000Z stderr F I0925 10:11:12.131415       1 log_monitor.go:160] "}) {
    for (const auto& record : read_text_log(prefix + "EXT4-fs error (device sda1): inode #2\n"))
      EXPECT_EQ(record.facility, 1) << prefix;
    EXPECT_FALSE(read_text_log(prefix + "EXT4-fs error\n").empty()) << prefix;
  }
}

TEST(TextForms, tells_what_the_kernel_says_of_a_process_from_what_the_process_says) {
  const auto records = read_text_log(
      "[    2.000000] python3[4242]: segfault at 0 ip 00007f0000000000 sp 00007fff00000000 error 4\n"
      "[    2.000001] python3[4242]: EXT4-fs error (device sda1)\n"
      "[    2.000002] kvm [4242]: vcpu0, guest rIP: 0xffffffff81065f2a disabled perfctr wrmsr\n");
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].facility, 0);
  EXPECT_TRUE(records[0].text.starts_with("python3[4242]: segfault"));
  EXPECT_EQ(records[1].facility, 1);
  EXPECT_EQ(records[2].facility, 0);
  EXPECT_TRUE(records[2].text.starts_with("kvm [4242]: "));
}

TEST(TextForms, keeps_what_is_no_mark_in_front_of_a_message) {
  for (const std::string text :
       {"nvme nvme3: I/O 211 QID 7 timeout, reset controller",
        "mce: [Hardware Error]: Machine check events logged", "[Hardware Error]: event severity: fatal",
        "{3}[Hardware Error]: event severity: fatal",
        "pcieport 0000:00:03.0:    [14] CmpltTO                (First)",
        "[<ffffffff81234567>] do_exit+0x1/0x2",
        "INFO: task nvidia-smi:4242 blocked for more than 120 seconds.",
        "[drm] amdgpu kernel modesetting enabled.", "WARNING: CPU: 3 PID: 7 at kernel/x.c:12",
        "0000:00:01.0: AER: Corrected error received"})
    for (const std::string prefix :
         {"", "[    2.000000] ", "[Jan21 03:11] ", "<3>[    2.000000] ", "kern  :err   : [    2.000000] "}) {
      const auto records = read_text_log(prefix + text + "\n");
      ASSERT_EQ(records.size(), 1U) << prefix + text;
      EXPECT_EQ(records[0].text, text) << prefix;
      EXPECT_EQ(records[0].facility, 0) << prefix + text;
    }
}

}  // namespace
}  // namespace autopilot::host
