// SPDX-License-Identifier: Apache-2.0
#include "host/clock/system_clock.hpp"

#include <gtest/gtest.h>
#include <sys/timex.h>

namespace autopilot::host {
namespace {

TEST(SystemClock, moves_on) {
  const SystemClock clock;
  const Instant first = clock.now();
  const Instant second = clock.now();
  EXPECT_GE(second.mono, first.mono);
  EXPECT_GT(first.wall, parse_time("2024-01-01T00:00:00Z").value());
}

TEST(SystemTimeSync, says_what_the_kernel_says) {
  const Files files;
  const auto state = SystemTimeSync(files).read();
  ASSERT_TRUE(state) << state.error().what;
  timex direct{};
  const int kernel_state = ::adjtimex(&direct);
  EXPECT_EQ(state->synchronised, (direct.status & STA_UNSYNC) == 0);
  EXPECT_EQ(state->clock_error, kernel_state == TIME_ERROR);
  if (files.exists("/sys/devices/system/clocksource/clocksource0/current_clocksource")) {
    EXPECT_NE(state->available_clocksources.find(state->clocksource), std::string::npos);
  }
}

TEST(SystemTimeSync, a_machine_without_clocksource_files_still_answers) {
  const Files files("/nonexistent");
  const auto state = SystemTimeSync(files).read();
  ASSERT_TRUE(state) << state.error().what;
  EXPECT_EQ(state->clocksource, "");
}

}  // namespace
}  // namespace autopilot::host
