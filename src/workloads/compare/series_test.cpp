// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/series.hpp"

#include <gtest/gtest.h>
#include <vector>

#include "workloads/compare/clock_times.hpp"

namespace autopilot::workloads::compare {
namespace {

TEST(Statistics, the_deviation_is_of_these_readings_and_percentiles_are_readings) {
  const std::vector<double> values{4, 1, 3, 2};
  const auto found = statistics_of(values);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->readings, 4U);
  EXPECT_DOUBLE_EQ(found->mean, 2.5);
  EXPECT_NEAR(found->deviation, 1.118034, 1e-6);
  EXPECT_EQ(found->median, 2);
  EXPECT_EQ(found->p95, 4);
  EXPECT_EQ(found->least, 1);
  EXPECT_EQ(found->most, 4);
  EXPECT_FALSE(statistics_of({}));
}

TEST(DifferenceOfMeans, equal_runs_include_zero_and_different_runs_do_not) {
  std::vector<double> a, b, c;
  for (int i = 0; i < 400; ++i) {
    a.push_back(i % 7);
    b.push_back((i + 3) % 7);
    c.push_back(i % 7 + 5);
  }
  const auto same = difference_of_means(a, b);
  ASSERT_TRUE(same);
  EXPECT_LT(same->low, 0);
  EXPECT_GT(same->high, 0);
  const auto more = difference_of_means(a, c);
  ASSERT_TRUE(more);
  EXPECT_GT(more->low, 4);
  EXPECT_LT(more->high, 6);
  EXPECT_FALSE(difference_of_means(std::vector<double>(39, 1.0), a)) << "too few readings";
}

TEST(ClockTimes, both_clocks_are_read_and_others_are_refused) {
  EXPECT_EQ(parse_clock("12:00:01 AM"), 1);
  EXPECT_EQ(parse_clock("12:00:01 pm"), 43201);
  EXPECT_EQ(parse_clock("23:59:58"), 86398);
  for (const char* text :
       {"", "24:00:00", "12:60:00", "13:00:00 PM", "0:1", "12:00:00 XM", "1:2:3:4", "aa:bb:cc"})
    EXPECT_FALSE(parse_clock(text)) << text;
}

TEST(ClockTimes, a_lost_meridiem_is_one_interval_and_is_reported) {
  // 12:59:52 PM, 12:59:57 PM, then 01:00:02 AM.
  const auto lost = place_times({46792, 46797, 3602, 3607}, true);
  EXPECT_EQ(lost.seconds, (std::vector<double>{0, 5, 10, 15}));
  ASSERT_EQ(lost.gaps.size(), 1U);
  EXPECT_TRUE(lost.gaps[0].is_repaired);
  EXPECT_EQ(lost.gaps[0].length_s, 43205);
}

TEST(ClockTimes, midnight_continues_and_a_real_pause_remains) {
  const auto placed = place_times({86390, 86395, 0, 5, 10, 70, 75}, true);
  EXPECT_EQ(placed.seconds, (std::vector<double>{0, 5, 10, 15, 20, 80, 85}));
  ASSERT_EQ(placed.gaps.size(), 1U);
  EXPECT_FALSE(placed.gaps[0].is_repaired);
  EXPECT_EQ(placed.gaps[0].after_s, 20);
}

TEST(NumberText, four_digits_or_all_before_the_point) {
  EXPECT_EQ(number_text(3.245558), "3.246");
  EXPECT_EQ(number_text(94996986.45), "94996986");
  EXPECT_EQ(number_text(0.000829), "0.000829");
  EXPECT_EQ(number_text(-2.5), "-2.5");
  EXPECT_EQ(number_text(0), "0");
}

TEST(NumberText, two_numbers_that_differ_have_different_texts) {
  EXPECT_EQ(digits_that_differ(100, 200), kUsualDigits);
  EXPECT_EQ(number_text(100.05, digits_that_differ(100, 100.05)), "100.05");
  EXPECT_EQ(digits_that_differ(1, 1), kUsualDigits);
  EXPECT_EQ(digits_that_differ(1, 1 + 1e-15), 12);
}

TEST(SourceText, names_lines_and_column) {
  EXPECT_EQ(to_string(Source{"cpu.txt", 3, 1598, 3, "%user"}), "cpu.txt:3-1598, column 3 (%user)");
  EXPECT_EQ(to_string(Source{"facts.yaml", 0, 0, 0, "throughput"}), "facts.yaml, throughput");
}

}  // namespace
}  // namespace autopilot::workloads::compare
