// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/kmsg_record.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>

namespace autopilot::host {
namespace {

using namespace std::chrono_literals;

TEST(KmsgRecord, splits_priority_sequence_time_and_text) {
  const auto record = parse_kmsg_record("3,1042,2750000123,-;NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->priority, 3);
  EXPECT_EQ(record->facility, 0);
  EXPECT_EQ(record->sequence, 1042U);
  EXPECT_EQ(record->microseconds, 2750000123U);
  EXPECT_EQ(record->text, "NVRM: Xid (PCI:0000:3b:00): 79, pid=1");
}

TEST(KmsgRecord, leaves_out_properties_and_ignores_further_header_fields) {
  const auto record =
      parse_kmsg_record("6,7,8,-,caller=T1;usb 1-1: new device\n SUBSYSTEM=usb\n DEVICE=c189:1\n");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->text, "usb 1-1: new device");
}

TEST(KmsgRecord, tells_what_user_space_wrote_by_its_facility) {
  const auto record = parse_kmsg_record("12,9,1,-;NVRM: Xid (PCI:0000:3b:00): 79, oops");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->facility, 1);
  EXPECT_EQ(record->priority, 4);
  EXPECT_FALSE(to_kernel_record(*record, {}).from_kernel());
}

TEST(KmsgRecord, marks_injected_records_only_where_user_space_wrote_them) {
  const auto injected = parse_kmsg_record("12,9,1,-;autopilot-injected: NVRM: Xid");
  ASSERT_TRUE(injected);
  EXPECT_TRUE(injected->injected);
  EXPECT_EQ(injected->text, "NVRM: Xid");
  const auto kernel = parse_kmsg_record("4,9,1,-;autopilot-injected: NVRM: Xid");
  ASSERT_TRUE(kernel);
  EXPECT_FALSE(kernel->injected);
}

TEST(KmsgRecord, undoes_escapes_of_newlines_and_characters) {
  const auto record = parse_kmsg_record(R"(3,1,1,-;first\x0aNVRM: second \x5cx \xc3\xa9)");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->text, "first\nNVRM: second \\x \xc3\xa9");
}

TEST(KmsgRecord, refuses_what_has_no_header) {
  for (const char* text :
       {"", ";", "1,2;x", "1,2,3;x", "a,2,3,-;x", "1,2,3x,-;x", "-1,2,3,-;x", "1,,3,-;x", "99999999,2,3,-;x",
        "1,99999999999999999999999,3,-;x", "1,2,18446744073709551615,-;x", "1,2,3,-"}) {
    const auto record = parse_kmsg_record(text);
    ASSERT_FALSE(record) << text;
    EXPECT_EQ(record.error().code, Errc::malformed);
  }
}

TEST(KmsgRecord, survives_ten_megabytes_and_binary) {
  constexpr std::size_t kTenMegabytes = 10'000'000;
  std::string line = "3,1,1,-;";
  line.resize(kTenMegabytes, 'x');
  const auto huge = parse_kmsg_record(line);
  ASSERT_TRUE(huge);
  EXPECT_EQ(huge->text.size(), KernelRecord::kMaxText);
  line.assign(kTenMegabytes, ',');
  EXPECT_FALSE(parse_kmsg_record(line));
  std::string binary = "3,1,1,-;";
  for (int value = 0; value < 256; ++value)
    if (value != '\n') binary += static_cast<char>(value);
  const auto record = parse_kmsg_record(binary);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->text.find('\0'), std::string::npos);
  EXPECT_NE(record->text.find("\\x00"), std::string::npos);
  EXPECT_NE(record->text.find("\\xff"), std::string::npos);
}

TEST(CleanLogText, keeps_escapes_that_would_give_control_or_broken_characters) {
  EXPECT_EQ(clean_log_text(R"(a\x1b[31mb)"), R"(a\x1b[31mb)");
  EXPECT_EQ(clean_log_text("a\x1b[31mb"), R"(a\x1b[31mb)");
  EXPECT_EQ(clean_log_text(R"(\xff)"), R"(\xff)");
  EXPECT_EQ(clean_log_text(R"(\xc3)"), R"(\xc3)");
  EXPECT_EQ(clean_log_text("\xed\xa0\x80"), R"(\xed\xa0\x80)");
  EXPECT_EQ(clean_log_text("\xc0\xaf"), R"(\xc0\xaf)");
  EXPECT_EQ(clean_log_text(R"(C:\new\x4)"), R"(C:\new\x4)");
}

TEST(CleanLogText, never_cuts_a_character_in_two) {
  EXPECT_EQ(clean_log_text("aa\xe2\x82\xac", 4), "aa");
  EXPECT_EQ(clean_log_text("aa\xe2\x82\xac", 5), "aa\xe2\x82\xac");
  EXPECT_EQ(clean_log_text("aaa", 2), "aa");
}

TEST(InstantSinceBoot, gives_both_clocks_and_no_future) {
  const Instant now{WallTime(1'000'000s), MonoTime(500s)};
  const Instant past = instant_since_boot(400'000'000, now);
  EXPECT_EQ(past.mono, MonoTime(400s));
  EXPECT_EQ(past.wall, WallTime(999'900s));
  const Instant future = instant_since_boot(600'000'000, now);
  EXPECT_EQ(future.mono, now.mono);
  EXPECT_EQ(future.wall, now.wall);
}

}  // namespace
}  // namespace autopilot::host
