// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/text_log.hpp"

#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "tests/support/host/text_log_fixture.hpp"

namespace autopilot::host {
namespace {

// Where no form fits.
TEST(TextLog, finds_a_message_that_is_known_behind_marks_that_are_not) {
  const auto knows = [](const KernelRecord& record) { return record.text.starts_with("NVRM: Xid"); };
  struct Case {
    std::string front;
    int facility;
  };
  for (const auto& [front, facility] :
       {Case{"#7 <03.04.05> node-7 ", 0}, Case{"(gpu of rack seven) ", 1}, Case{"node-7|kern|", 0},
        Case{"[Sun Aug 16 23:01:35 CST 2026] ", 0}, Case{"dcgm-exporter: ", 1}, Case{"he said 'I saw ", 1},
        Case{"the log of monday has ", 1}}) {
    TextLogReader reader(knows);
    EXPECT_TRUE(reader.add_line(front + std::string(kLogText)).empty());
    const auto records = reader.finish();
    ASSERT_EQ(records.size(), 1U) << front;
    EXPECT_EQ(records[0].text, kLogText) << front;
    EXPECT_EQ(records[0].facility, facility) << front;
    EXPECT_FALSE(records[0].verified) << front;
  }
}

// A message of which only the end matters is known behind a quotation mark as well.
TEST(TextLog, takes_a_message_in_quotation_marks_for_a_quotation) {
  TextLogReader reader(
      [](const KernelRecord& record) { return record.text.find("EXT4-fs error") != std::string::npos; });
  std::vector<KernelRecord> records;
  for (const char* line :
       {"the log has \"EXT4-fs error (device sda1)\"", "EXT4-fs error (device sda1): comm 'a'"})
    for (auto& record : reader.add_line(line))
      records.push_back(std::move(record));
  for (auto& record : reader.finish())
    records.push_back(std::move(record));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].facility, 1);
  EXPECT_EQ(records[1].facility, 0);
}

TEST(TextLog, knows_the_programs_of_a_journal_by_the_host_of_other_rows) {
  const auto records = read_text_log(
      "[    1.000000] node7 kernel: usb 1-1: new\n"
      "[    2.000000] node7 watch: EXT4-fs error (device sda1)\n"
      "[    3.000000] nvme nvme3: I/O 211 QID 7 timeout, reset controller\n");
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[1].facility, 1);
  EXPECT_EQ(records[1].text, "EXT4-fs error (device sda1)");
  EXPECT_EQ(records[2].facility, 0);
  EXPECT_EQ(records[2].text, "nvme nvme3: I/O 211 QID 7 timeout, reset controller");
}

TEST(TextLog, reads_the_journal_as_json) {
  const auto records = read_text_log(
      R"({"__REALTIME_TIMESTAMP":"1795230245678901","_TRANSPORT":"kernel","SYSLOG_FACILITY":"0","PRIORITY":"3","_SOURCE_MONOTONIC_TIMESTAMP":"2750000123","MESSAGE":"NVRM: Xid"}
{"_TRANSPORT":"kernel","SYSLOG_FACILITY":"1","PRIORITY":"4","MESSAGE":"written to the kernel log by a user"}
{"_TRANSPORT":"syslog","SYSLOG_FACILITY":"0","MESSAGE":"a program that says kern"}
{"_TRANSPORT":"kernel","MESSAGE":[78,86,82,77,255]}
{"_TRANSPORT":"kernel","__REALTIME_TIMESTAMP":"1"}
)");
  ASSERT_EQ(records.size(), 4U);
  EXPECT_TRUE(records[0].from_kernel());
  EXPECT_EQ(records[0].priority, 3);
  EXPECT_EQ(format_time(records[0].time.wall), "2026-11-21T03:04:05.678Z");
  EXPECT_EQ(records[0].time.mono, MonoTime(std::chrono::microseconds(2750000123)));
  EXPECT_FALSE(records[1].from_kernel());
  EXPECT_FALSE(records[2].from_kernel());
  EXPECT_EQ(records[3].text, "NVRM\\xff");
  EXPECT_EQ(records[3].sequence, 4U);
}

// What a user wrote to the kernel log has the same transport: without the facility nobody can tell.
TEST(TextLog, trusts_no_entry_of_the_journal_that_does_not_say_who_wrote_it) {
  const auto records = read_text_log(
      R"({"_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"NVRM: Xid"}
{"_TRANSPORT":"kernel","SYSLOG_FACILITY":["0","1"],"MESSAGE":"both"}
{"_TRANSPORT":"kernel","SYSLOG_FACILITY":"","MESSAGE":"neither"}
)");
  ASSERT_EQ(records.size(), 3U);
  for (const auto& record : records) {
    EXPECT_FALSE(record.verified) << record.text;
    EXPECT_FALSE(record.from_kernel()) << record.text;
  }
}

TEST(TextLog, reads_the_log_of_a_machine_tree) {
  const auto records =
      read_text_log("{\"prio\":3,\"seq\":9,\"time\":5.5,\"text\":\"NVRM: x\"}\n{\"lost\":3}\n");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].text, "NVRM: x");
  EXPECT_TRUE(records[0].from_kernel());
}

TEST(TextLog, joins_the_rows_of_one_message) {
  for (const std::string prefix : {"[   12.000001] ", "Nov 21 03:04:05 node-1 kernel: ", "<3>[ 1.000001] "}) {
    std::string log;
    for (const char* row :
         {"NVRM: The NVIDIA GPU 0000:b3:00.0", "NVRM: (PCI ID: 10de:26b5) installed in this system has",
          "NVRM: fallen off the bus and is not responding to commands.", "next"})
      log.append(prefix).append(row).append("\n");
    const auto records = read_text_log(log);
    ASSERT_EQ(records.size(), 2U) << prefix;
    EXPECT_EQ(records[0].text,
              "NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\n"
              "NVRM: fallen off the bus and is not responding to commands.");
    EXPECT_EQ(records[0].sequence, 1U);
    EXPECT_EQ(records[1].sequence, 4U);
  }
}

TEST(TextLog, joins_the_rows_about_a_gpu_without_addresses_or_support_and_nothing_that_follows) {
  std::string log;
  for (const char* row :
       {"NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
        "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:56:00.0)", "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:1c82)",
        "NVRM: installed in this system is not supported by open",
        "NVRM: The NVIDIA probe routine failed for 2 device(s).",
        "NVRM: loading NVIDIA UNIX x86_64  535.161.08"})
    log.append("[   12.000001] ").append(row).append("\n");
  const auto records = read_text_log(log);
  ASSERT_EQ(records.size(), 4U);
  EXPECT_EQ(records[0].text,
            "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
            "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:56:00.0)");
  EXPECT_EQ(records[1].text,
            "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:1c82)\n"
            "NVRM: installed in this system is not supported by open");
  EXPECT_EQ(records[2].text, "NVRM: The NVIDIA probe routine failed for 2 device(s).");
}

TEST(TextLog, joins_the_rows_that_are_printed_below_each_other) {
  for (const std::string prefix :
       {"Nov 21 03:04:05 node-1 kernel: ", "[   12.000001] ", "[Sat Nov 21 03:04:05 2026] ",
        "kern  :err   : [   12.000001] ", "2026-11-21T03:04:05,678901+01:00 ", "[   12.000001] [  T1234] "}) {
    const std::string indent(prefix.size(), ' ');
    std::string text = prefix + "NVRM: The NVIDIA GPU 0000:b3:00.0\n";
    text.append(indent).append("NVRM: (PCI ID: 10de:26b5) installed in this system has\n");
    text.append(indent).append("NVRM: fallen off the bus and is not responding to commands.\n");
    text.append(prefix).append("NVRM: Xid (PCI:0000:3b:00): 79, x\n");
    const auto records = read_text_log(text);
    ASSERT_EQ(records.size(), 2U) << prefix;
    EXPECT_EQ(records[0].text,
              "NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\n"
              "NVRM: fallen off the bus and is not responding to commands.");
    EXPECT_EQ(records[1].text, "NVRM: Xid (PCI:0000:3b:00): 79, x");
    EXPECT_EQ(records[1].sequence, 4U);
  }
}

TEST(TextLog, joins_rows_without_a_facility_and_trusts_the_whole_no_more) {
  const auto records = read_text_log(
      "<3>[    2.000000] NVRM: The NVIDIA GPU 0000:b3:00.0\n"
      "NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
      "NVRM: fallen off the bus and is not responding to commands.\n"
      "<6>[    3.000000] next\n");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_NE(records[0].text.find("fallen off"), std::string::npos);
  EXPECT_FALSE(records[0].from_kernel());
  EXPECT_TRUE(records[1].from_kernel());
}

TEST(TextLog, takes_indented_lines_for_what_they_are) {
  const auto records = read_text_log(
      "  [    2.000000] NVRM: Xid (PCI:0000:3b:00): 79, x\n"
      "  [    3.000000] NVRM: Xid (PCI:0000:3c:00): 48, y\n"
      "                 below it\n"
      "    NVRM: Xid (PCI:0000:3d:00): 94, z\n");
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[0].text, "NVRM: Xid (PCI:0000:3b:00): 79, x");
  EXPECT_EQ(records[1].text, "NVRM: Xid (PCI:0000:3c:00): 48, y\nbelow it");
  EXPECT_EQ(records[2].text, "NVRM: Xid (PCI:0000:3d:00): 94, z");
  EXPECT_EQ(records[2].sequence, 4U);
}

// A row that looks like a line of its own is still part of the record above it.
TEST(TextLog, takes_no_row_of_a_user_for_a_line_of_the_kernel) {
  const auto records = read_text_log(
      "user  :warn  : [   12.000001] hello\n"
      "                              kern  :err   : [   12.000002] NVRM: Xid (PCI:0000:3b:00): 79, x\n");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_FALSE(records[0].from_kernel());
}

TEST(TextLog, does_not_join_what_does_not_belong_together) {
  const auto records =
      read_text_log("NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: Xid (PCI:0000:3b:00): 79, x\n");
  ASSERT_EQ(records.size(), 2U);
  const auto endless = read_text_log("NVRM: API mismatch: a\n" + [] {
    std::string rows;
    for (int i = 0; i < 100; ++i)
      rows += "NVRM: more\n";
    return rows;
  }());
  EXPECT_GT(endless.size(), 90U);
}

TEST(TextLog, leaves_out_the_properties_of_raw_records) {
  const auto records = read_text_log("6,1,1,-;usb 1-1: new\n SUBSYSTEM=usb\n DEVICE=c189:1\n6,2,1,-;next\n");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].text, "usb 1-1: new");
  EXPECT_EQ(records[1].sequence, 4U);
}

TEST(TextLog, survives_anything) {
  EXPECT_TRUE(read_text_log("").empty());
  EXPECT_TRUE(read_text_log("\n\n   \n\t\n").empty());
  std::string huge;
  huge.resize(10'000'000, 'x');
  EXPECT_EQ(read_text_log(huge)[0].text.size(), KernelRecord::kMaxText);
  std::string binary;
  for (int i = 0; i < 4096; ++i)
    binary += static_cast<char>(i * 7);
  for (const auto& record : read_text_log(binary))
    EXPECT_EQ(record.text.find('\0'), std::string::npos);
  for (const std::string_view whole :
       {"<3>1 2026-11-21T03:04:05.678901Z node-1 kernel - - - text", "[Sat Nov 21 03:04:05 2026] text",
        "Sat 2026-11-21 03:04:05 UTC node-1 kernel: text", "kern  :err   : [ 2750.000123] text",
        "2026-11-21T03:04:05,678901+01:00 text", "[ 2750.000123][ T1234] text",
        "[ 2750.000123] [  T1234] text", "[Sat Nov 21 03:04:05 2026] [  T1234] text"})
    for (std::size_t size = 0; size <= whole.size(); ++size)
      (void)read_text_log(whole.substr(0, size));
}

}  // namespace
}  // namespace autopilot::host
