// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/text_blocks.hpp"

#include <gtest/gtest.h>
#include <string>

#include "core/clock.hpp"
#include "tests/support/host/text_log_fixture.hpp"

namespace autopilot::host {
namespace {

TEST(TextBlocks, reads_the_journal_in_its_outputs_of_several_lines) {
  using namespace std::string_literals;
  const auto records = read_text_log(
      "{\n\t\"_TRANSPORT\" : \"kernel\",\n\t\"SYSLOG_FACILITY\" : \"0\",\n\t\"MESSAGE\" : \"one\"\n}\n"
      "{\n\t\"MESSAGE\" : [\n\t\t116,\n\t\t119\n\t],\n\t\"_TRANSPORT\" : \"syslog\"\n}\n"
      "Sat 2026-11-21 03:04:05.678901 UTC [s=1;i=2;b=3;m=4;t=5;x=6]\n"
      "    _TRANSPORT=kernel\n    MESSAGE=three\n            and more\n    SYSLOG_FACILITY=0\n"
      "__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=1795230245678901\n_TRANSPORT=kernel\nMESSAGE\n"s +
      std::string("\x0a\0\0\0\0\0\0\0", 8) +
      "four\n_TRAN\nSYSLOG_FACILITY=0\n\n"
      "__CURSOR=s=1;i=3\n_TRANSPORT=stdout\nMESSAGE=five\n");
  ASSERT_EQ(records.size(), 5U);
  EXPECT_EQ(records[0].text, "one");
  EXPECT_TRUE(records[0].from_kernel());
  EXPECT_EQ(records[0].sequence, 4U);
  EXPECT_EQ(records[1].text, "tw");
  EXPECT_EQ(records[1].facility, 1);
  EXPECT_EQ(records[2].text, "three\nand more");
  EXPECT_TRUE(records[2].from_kernel());
  EXPECT_EQ(records[3].text, "four\n_TRAN");
  EXPECT_TRUE(records[3].from_kernel());
  EXPECT_EQ(format_time(records[3].time.wall), "2026-11-21T03:04:05.678Z");
  EXPECT_EQ(records[4].text, "five");
  EXPECT_EQ(records[4].facility, 1);
}

TEST(TextBlocks, reads_the_json_of_dmesg) {
  const auto records = read_text_log(
      "{\n   \"dmesg\": [\n      {\n         \"fac\": \"kern\",\n         \"pri\": \"err\",\n"
      "         \"time\":     1.500000,\n         \"msg\": \"one\"\n      },{\n         \"pri\": 5,\n"
      "         \"time\":     2.000000,\n         \"caller\": \"T12\",\n         \"msg\": \"two\"\n      }\n"
      "   ]\n}\n[    3.000000] three\n");
  ASSERT_GE(records.size(), 3U);
  EXPECT_EQ(records[0].text, "one");
  EXPECT_TRUE(records[0].from_kernel());
  EXPECT_EQ(records[0].time.mono, MonoTime(std::chrono::microseconds(1500000)));
  EXPECT_EQ(records[1].text, "two");
  EXPECT_FALSE(records[1].verified) << "the number does not tell the facility";
  EXPECT_EQ(records.back().text, "three");
}

TEST(TextBlocks, reads_on_behind_a_value_that_is_larger_than_any_record) {
  const auto records = read_text_log(
      "__CURSOR=s=1\n_TRANSPORT=kernel\nMESSAGE\n\xff\xff\xff\xff\xff\xff\xff\x7fx\n[    3.000000] three\n");
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records.back().text, "three");
}

TEST(TextBlocks, reads_on_behind_an_object_that_does_not_end) {
  const auto records = read_text_log("{\n\"msg\": \"x\",\n[    3.000000] three\n");
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].text, "three");
}

TEST(TextBlocks, reads_objects_that_collectors_make) {
  const auto records = read_text_log(
      R"({"_TRANSPORT":"kernel","SYSLOG_FACILITY":"0","message":"one"}
{"log":"[    1.000000] two\n","stream":"stdout","time":"2026-04-22T21:27:51Z"}
{"log":"NVRM: three\n","stream":"stderr","time":"2026-04-22T21:27:51Z"}
{"pri":3,"time":4.0,"msg":"four"}
{"level":"INFO","msg":"NVRM: Xid (PCI:0000:3b:00): 79, x"}
)"
      "\x1e{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"six\"}\n");
  ASSERT_EQ(records.size(), 5U);
  EXPECT_TRUE(records[0].from_kernel());
  EXPECT_EQ(records[1].text, "two");
  EXPECT_EQ(records[1].facility, 0);
  EXPECT_EQ(records[2].text, "NVRM: three");
  EXPECT_EQ(records[2].facility, 1);
  EXPECT_EQ(records[3].text, "four");
  EXPECT_EQ(records[4].text, "six");
}

}  // namespace
}  // namespace autopilot::host
