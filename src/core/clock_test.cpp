// SPDX-License-Identifier: Apache-2.0
#include "core/clock.hpp"

#include <gtest/gtest.h>

namespace autopilot {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

constexpr WallTime kMoment = WallTime{sys_days{std::chrono::year{2026} / 11 / 21}} + 3h + 4min + 5s + 678ms;

TEST(Time, is_written_in_utc_with_milliseconds) {
  EXPECT_EQ(format_time(kMoment), "2026-11-21T03:04:05.678Z");
  EXPECT_EQ(format_time(WallTime{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(WallTime{-1ns}), "1969-12-31T23:59:59.999Z");
}

TEST(Time, reads_what_it_wrote) {
  EXPECT_EQ(parse_time(format_time(kMoment)), kMoment);
}

TEST(Time, reads_other_spellings_of_the_same_moment) {
  EXPECT_EQ(parse_time("2026-11-21 03:04:05.678Z"), kMoment);
  EXPECT_EQ(parse_time("2026-11-21t03:04:05.678000z"), kMoment);
  EXPECT_EQ(parse_time("2026-11-21T05:04:05.678+02:00"), kMoment);
  EXPECT_EQ(parse_time("2026-11-20T21:34:05.678-0530"), kMoment);
  EXPECT_EQ(parse_time("2026-11-21T03:04:05Z"), kMoment - 678ms);
  EXPECT_EQ(parse_time("2026-11-21T03:04:05.1234567899999Z"), kMoment - 678ms + 123456789ns);
}

TEST(Time, a_leap_second_is_the_next_second) {
  EXPECT_EQ(parse_time("2016-12-31T23:59:60Z"), parse_time("2017-01-01T00:00:00Z"));
}

TEST(Time, refuses_what_is_no_time) {
  for (const auto* text : {"",
                           "now",
                           "2026",
                           "2026-11-21",
                           "2026-11-21T03:04:05",
                           "2026-11-21T03:04:05.Z",
                           "2026-11-21T24:00:00Z",
                           "2026-11-21T03:60:00Z",
                           "2026-02-29T00:00:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-11-21T03:04:05Zx",
                           " 2026-11-21T03:04:05Z",
                           "2026-11-21T03:04:05+2:00",
                           "2026-11-21T03:04:05+24:00",
                           "-026-11-21T03:04:05Z",
                           "+026-11-21T03:04:05Z",
                           "20261-11-21T03:04:05Z",
                           "1677-12-31T00:00:00Z",
                           "1732-11-01T01:00:00Z",
                           "1969-12-31T23:59:59.999Z",
                           "1970-01-01T00:00:00+00:01",
                           "2261-12-31T23:59:00-00:01",
                           "2262-01-01T00:00:00Z",
                           "2262-04-12T00:00:00Z",
                           "9999-12-31T23:59:59Z"})
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  EXPECT_EQ(parse_time(std::string_view("2026-11-21T03:04:05Z\0", 21)), std::nullopt);
}

TEST(Time, what_lies_between_the_ends_of_its_range_is_a_duration) {
  const auto first = parse_time("1969-12-31T23:59:00-00:01");
  const auto last = parse_time("2262-01-01T23:58:59.999999999+23:59");
  ASSERT_TRUE(first && last);
  EXPECT_EQ(format_time(*first), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(format_time(*last), "2261-12-31T23:59:59.999Z");
  EXPECT_GT(*last - *first, std::chrono::years{291});
  EXPECT_LT(*first - *last, -std::chrono::years{291});
}

TEST(DurationText, is_short_and_exact) {
  EXPECT_EQ(format_duration(0s), "0s");
  EXPECT_EQ(format_duration(250ms), "250ms");
  EXPECT_EQ(format_duration(2s), "2s");
  EXPECT_EQ(format_duration(90s), "1m30s");
  EXPECT_EQ(format_duration(12h), "12h");
  EXPECT_EQ(format_duration(24h * 7), "7d");
  EXPECT_EQ(format_duration(1500ms), "1s500ms");
  EXPECT_EQ(format_duration(1s + 1ns), "1s1ns");
  EXPECT_EQ(format_duration(-90s), "-1m30s");
  EXPECT_EQ(format_duration(Duration::min()), "-106751d23h47m16s854ms775us808ns");
}

TEST(DurationText, reads_back_to_the_nanosecond) {
  for (const Duration duration : {Duration{1ns}, Duration{999999999ns}, Duration{1h + 1ns},
                                  Duration{93s + 7us}, Duration{24h * 36500 + 1ns}, Duration::max()})
    EXPECT_EQ(parse_duration(format_duration(duration)), duration) << format_duration(duration);
}

TEST(DurationText, takes_fractions_and_several_parts) {
  EXPECT_EQ(parse_duration("1.5h"), 90min);
  EXPECT_EQ(parse_duration("1h30m"), 90min);
  EXPECT_EQ(parse_duration("0.25s"), 250ms);
  EXPECT_EQ(parse_duration("0s"), 0s);
}

TEST(DurationText, refuses_what_is_no_duration) {
  for (const auto* text : {"",
                           "s",
                           "5",
                           "5 s",
                           "-5s",
                           "+5s",
                           "5S",
                           "5sec",
                           "1.s",
                           ".5s",
                           "1..5s",
                           "1e3s",
                           "0x5s",
                           "nans",
                           "infs",
                           "1h nonsense",
                           "106752d",
                           "300y",
                           "99999999999999999999s",
                           "9223372036s855ms",
                           "1h106751d23h"})
    EXPECT_EQ(parse_duration(text), std::nullopt) << text;
  EXPECT_EQ(parse_duration(std::string(1 << 20, '9') + "s"), std::nullopt);
}

}  // namespace
}  // namespace autopilot
