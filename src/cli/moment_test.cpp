// SPDX-License-Identifier: Apache-2.0
#include "cli/moment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;

const WallTime kNow = *parse_time("2026-03-01T10:20:30Z");

std::string moment_of(const std::string& text) {
  const auto moment = parse_moment("--since", text, kNow, WallTime{});
  return moment ? format_time(*moment) : moment.error().what;
}

TEST(Moment, of_a_person_is_a_duration_before_now_a_day_or_a_time) {
  EXPECT_EQ(moment_of("2h"), "2026-03-01T08:20:30.000Z");
  EXPECT_EQ(moment_of("now"), "2026-03-01T10:20:30.000Z");
  EXPECT_EQ(moment_of("2025-12-31"), "2025-12-31T00:00:00.000Z");
  EXPECT_EQ(moment_of("2025-12-31 03:04"), "2025-12-31T03:04:00.000Z");
  EXPECT_EQ(moment_of("2025-12-31 03:04:05"), "2025-12-31T03:04:05.000Z");
  EXPECT_EQ(moment_of("2025-12-31T03:04:05+01:00"), "2025-12-31T02:04:05.000Z");
  EXPECT_EQ(moment_of("Yesterday"), "2026-02-28T00:00:00.000Z");
  EXPECT_EQ(moment_of("yesterday 23:59"), "2026-02-28T23:59:00.000Z");
  EXPECT_EQ(moment_of("today"), "2026-03-01T00:00:00.000Z");
  EXPECT_EQ(moment_of("9:15"), "2026-03-01T09:15:00.000Z");
  EXPECT_EQ(moment_of(""), "1970-01-01T00:00:00.000Z");
}

TEST(Moment, that_does_not_exist_is_named_with_the_option) {
  for (const char* text : {"2026-02-30", "2026-13-01", "2026-03-01 25:00", "2026-03-01 noon", "24:61"})
    EXPECT_THAT(moment_of(text),
                testing::AllOf(HasSubstr("--since: '" + std::string(text) + "' is not a valid")));
  for (const char* text : {"soon", "yesterday at noon", "2026", "30.11.2026", "-2h"})
    EXPECT_THAT(moment_of(text), testing::AllOf(HasSubstr("--since: expected"), HasSubstr(text)));
}

}  // namespace
}  // namespace autopilot::cli
