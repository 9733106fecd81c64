// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/tree_kernel_log.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <string>

#include "tests/support/host/test_clock.hpp"
#include "tests/support/host/test_folder.hpp"

namespace autopilot::host {
namespace {

class TreeKernelLogTest : public testing::Test {
 protected:
  void write(std::string_view text) { folder_.write("/kmsg.jsonl", text); }
  void append(std::string_view text) {
    std::ofstream(folder_.path() + "/kmsg.jsonl", std::ios::app | std::ios::binary) << text;
  }
  [[nodiscard]] Result<KernelRecords> read(std::uint64_t from = 0) const {
    return log_.read(from, MonoTime{});
  }

  const TestFolder folder_;
  const FixedClock clock_;
  const TreeKernelLog log_{folder_.path() + "/kmsg.jsonl", clock_};
};

TEST_F(TreeKernelLogTest, gives_records_with_priority_facility_and_time) {
  write(R"({"prio":3,"seq":10,"time":999.5,"text":"NVRM: Xid"}
{"prio":12,"seq":11,"time":999.75,"text":"hello","injected":true}
)");
  const auto records = read();
  ASSERT_TRUE(records) << records.error().what;
  ASSERT_EQ(records->records.size(), 2U);
  EXPECT_EQ(records->witness, "/dev/kmsg");
  EXPECT_EQ(records->next, 12U);
  EXPECT_TRUE(records->records[0].from_kernel());
  EXPECT_EQ(clock_.now().mono - records->records[0].time.mono, std::chrono::milliseconds(500));
  EXPECT_EQ(records->records[1].facility, 1);
  EXPECT_TRUE(records->records[1].injected);
}

TEST_F(TreeKernelLogTest, a_record_may_be_of_a_source_that_cannot_be_trusted) {
  write("{\"time\":1,\"text\":\"NVRM: Xid\",\"verified\":false}\n");
  const auto records = read();
  ASSERT_TRUE(records) << records.error().what;
  ASSERT_EQ(records->records.size(), 1U);
  EXPECT_FALSE(records->records[0].from_kernel());
}

TEST_F(TreeKernelLogTest, gives_what_was_added_since_and_waits_for_the_end_of_a_line) {
  write("{\"time\":1,\"text\":\"a\"}\n");
  EXPECT_EQ(read()->next, 1U);
  append("{\"time\":2,\"te");
  EXPECT_TRUE(read(1)->records.empty());
  append("xt\":\"b\"}\n");
  const auto more = read(1);
  ASSERT_EQ(more->records.size(), 1U);
  EXPECT_EQ(more->records[0].text, "b");
}

TEST_F(TreeKernelLogTest, counts_losses_that_are_told_or_seen_in_the_numbers) {
  write("{\"seq\":5,\"time\":1,\"text\":\"a\"}\n{\"lost\":120}\n{\"seq\":126,\"time\":2,\"text\":\"b\"}\n");
  EXPECT_EQ(read()->lost, 120U);
  EXPECT_EQ(read(126)->lost, 0U) << "told once";
  append("{\"lost\":3}\n{\"time\":3,\"text\":\"c\"}\n{\"seq\":200,\"time\":3,\"text\":\"d\"}\n");
  const auto more = read(127);
  EXPECT_EQ(more->records.size(), 2U);
  EXPECT_EQ(more->records[0].sequence, 130U);
  EXPECT_EQ(more->lost, 3U + 69U);
}

TEST_F(TreeKernelLogTest, begins_again_when_the_file_was_replaced) {
  write("{\"time\":1,\"text\":\"aaaaaaaaaaaaaaaaaaaa\"}\n{\"time\":1,\"text\":\"a\"}\n");
  EXPECT_EQ(read()->next, 2U);
  write("{\"time\":1,\"text\":\"b\"}\n");
  const auto records = read(2);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->records.size(), 1U);
  EXPECT_EQ(records->records[0].text, "b");
}

TEST_F(TreeKernelLogTest, says_what_the_file_says_when_the_log_cannot_be_read) {
  EXPECT_EQ(read().error().code, Errc::unavailable);
  write("{\"error\":\"denied\"}\n");
  EXPECT_EQ(read().error().code, Errc::denied);
}

TEST_F(TreeKernelLogTest, names_the_line_it_cannot_read) {
  for (const char* line :
       {"no json", "[]", "{}", "{\"time\":1}", "{\"text\":1,\"time\":1}", "{\"time\":-1,\"text\":\"a\"}",
        "{\"time\":1e300,\"text\":\"a\"}", "{\"time\":\"1\",\"text\":\"a\"}", "{\"lost\":-1}",
        "{\"error\":\"oops\"}", "{\"time\":1,\"text\":\"a\",\"seq\":-4}",
        "{\"time\":1,\"text\":\"a\",\"more\":1}", "\xff\xfe"}) {
    write("{\"time\":1,\"text\":\"good line in front\"}\n" + std::string(line) + "\n");
    const auto records = TreeKernelLog(folder_.path() + "/kmsg.jsonl", clock_).read(0, MonoTime{});
    ASSERT_FALSE(records) << line;
    EXPECT_EQ(records.error().code, Errc::malformed);
    EXPECT_NE(records.error().what.find("kmsg.jsonl:2:"), std::string::npos) << records.error().what;
  }
}

TEST_F(TreeKernelLogTest, refuses_an_endless_line) {
  write(std::string(3'000'000, 'x'));
  EXPECT_EQ(read().error().code, Errc::malformed);
}

}  // namespace
}  // namespace autopilot::host
