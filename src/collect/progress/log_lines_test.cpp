// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/log_lines.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::collect::log_lines_test {
namespace {

using std::chrono::seconds;

constexpr WallTime kNow{seconds{1'800'000'000}};

struct Got {
  WallTime time;
  std::string text;
};

std::vector<Got> lines_of(LogFormat format, const std::vector<std::string>& pieces) {
  std::vector<Got> got;
  LogLines lines(format);
  for (const std::string& piece : pieces)
    lines.feed(piece, kNow, [&](const LogLine& line) { got.push_back({line.time, std::string(line.text)}); });
  return got;
}

TEST(LogLines, a_line_that_arrives_in_pieces_is_one_line) {
  const auto got = lines_of(LogFormat::plain, {"step ", "1", "0\nste", "p 11\n\n"});
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].text, "step 10");
  EXPECT_EQ(got[1].text, "step 11");
  EXPECT_EQ(got[1].time, kNow);
}

TEST(LogLines, each_state_of_a_progress_bar_is_a_line_without_colours) {
  const auto got = lines_of(LogFormat::plain, {"\r 10%|1| 1/10\r\x1b[32m 20%|2|\x1b[0m 2/10\x1b[K\r\n"});
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].text, " 10%|1| 1/10");
  EXPECT_EQ(got[1].text, " 20%|2| 2/10");
}

TEST(LogLines, a_state_of_a_progress_bar_is_read_before_the_runtime_ends_the_line) {
  const auto got = lines_of(LogFormat::container,
                            {"2026-01-01T00:00:00.5Z stderr P  1/9\r 2/9\r 3", "/9\n",
                             "2026-01-01T00:00:01Z stderr P \r 4/9\n", "2026-01-01T00:00:02Z stderr F \n"});
  ASSERT_EQ(got.size(), 4U);
  EXPECT_EQ(got[1].text, " 2/9");
  EXPECT_EQ(got[2].text, " 3/9");
  EXPECT_EQ(got[3].text, " 4/9");
  EXPECT_EQ(format_time(got[0].time), "2026-01-01T00:00:00.500Z");
}

TEST(LogLines, a_line_that_cri_splits_is_joined_and_has_the_time_of_its_end) {
  const auto got = lines_of(LogFormat::container, {"2026-01-01T00:00:00Z stdout P iteration 12\n"
                                                   "2026-01-01T00:00:01Z stdout F 3/ 500 |\n"});
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].text, "iteration 123/ 500 |");
  EXPECT_EQ(format_time(got[0].time), "2026-01-01T00:00:01.000Z");
}

TEST(LogLines, docker_lines_are_read_and_partial_ones_joined) {
  const auto got =
      lines_of(LogFormat::container,
               {R"({"log":"iter \u001b[1m1","stream":"stdout","time":"2026-01-01T00:00:00.25Z"})"
                "\n"
                R"({"log":"0: loss 2\n","stream":"stdout","time":"2026-01-01T00:00:00.25+00:00"})"
                "\n"});
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].text, "iter 10: loss 2");
  EXPECT_EQ(format_time(got[0].time), "2026-01-01T00:00:00.250Z");
}

TEST(LogLines, a_clock_ahead_of_the_node_is_bounded_by_the_time_of_reading) {
  const auto got = lines_of(LogFormat::container, {"2099-01-01T00:00:00Z stdout F step 1\n"});
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].time, kNow);
}

TEST(LogLines, of_a_line_of_10_mb_the_first_and_the_last_8_kib_count) {
  std::vector<std::string> pieces{"begin "};
  for (int i = 0; i < 160; ++i)
    pieces.emplace_back(65536, static_cast<char>('a' + i % 26));
  pieces.emplace_back(" end\nnext\n");
  const auto got = lines_of(LogFormat::plain, pieces);
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].text.size(), ClippedText::kHead + 1 + ClippedText::kTail);
  EXPECT_TRUE(got[0].text.starts_with("begin aaa"));
  EXPECT_TRUE(got[0].text.ends_with(" end"));
  EXPECT_EQ(got[1].text, "next");
}

TEST(LogLines, a_line_that_just_fits_is_whole) {
  const std::string whole(ClippedText::kHead + ClippedText::kTail, 'x');
  const auto got = lines_of(LogFormat::plain, {whole + "\n"});
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].text, whole);
}

TEST(LogLines, binary_bytes_become_blanks) {
  const auto got = lines_of(LogFormat::container, {std::string("\0\x01\xff\x7f step 3\n", 12)});
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].text, "  \xff  step 3");
}

TEST(LogLines, after_a_skip_the_rest_of_a_line_is_dropped) {
  std::vector<std::string> got;
  LogLines lines(LogFormat::plain);
  const auto sink = [&](const LogLine& line) { got.emplace_back(line.text); };
  lines.feed("step 1\nste", kNow, sink);
  lines.skip();
  lines.feed("7 of an old line\nstep 90\n", kNow, sink);
  EXPECT_EQ(got, (std::vector<std::string>{"step 1", "step 90"}));
}

}  // namespace
}  // namespace autopilot::collect::log_lines_test
