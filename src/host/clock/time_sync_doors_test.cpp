// SPDX-License-Identifier: Apache-2.0
#include "host/clock/time_sync_doors.hpp"

#include <gtest/gtest.h>
#include <sys/timex.h>

namespace autopilot::host {
namespace {

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
