// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/swap.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace autopilot::jobs::swap_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr WallTime kAsked{std::chrono::hours(500000)};

JobState with_interval(double seconds) {
  JobState job;
  job.last_checkpoint = kAsked - 20min;
  job.checkpoint_interval_s = seconds;
  job.last_step = kAsked;
  return job;
}

TEST(Swap, the_pods_move_after_the_end_of_a_checkpoint_that_followed) {
  JobState job = with_interval(1800);
  EXPECT_EQ(state_of_swap(kAsked, job, kAsked + 5min).turn, SwapTurn::wait);
  EXPECT_THAT(state_of_swap(kAsked, job, kAsked + 5min).why, IsEmpty());
  job.last_checkpoint = kAsked + 6min;
  const SwapState state = state_of_swap(kAsked, job, kAsked + 7min);
  EXPECT_EQ(state.turn, SwapTurn::move);
  EXPECT_THAT(state.why, HasSubstr("a checkpoint ended at"));
}

TEST(Swap, steps_beyond_the_interval_stand_for_a_checkpoint_that_was_not_reported) {
  JobState job = with_interval(1800);
  EXPECT_EQ(state_of_swap(kAsked, job, kAsked + 41min).turn, SwapTurn::wait) << "no step ended since then";
  job.last_step = kAsked + 40min;
  EXPECT_EQ(state_of_swap(kAsked, job, kAsked + 41min).turn, SwapTurn::move);
  job.last_checkpoint.reset();
  EXPECT_EQ(state_of_swap(kAsked, job, kAsked + 41min).turn, SwapTurn::wait) << "it never reported one";
}

TEST(Swap, is_given_up_after_the_deadline) {
  JobState job = with_interval(1800);
  EXPECT_EQ(state_of_swap(kAsked, job, kAsked + 69min).turn, SwapTurn::wait);
  const SwapState late = state_of_swap(kAsked, job, kAsked + 70min);
  EXPECT_EQ(late.turn, SwapTurn::give_up);
  EXPECT_THAT(late.why, HasSubstr("no checkpoint ended within 1h10m"));
  job.last_checkpoint = kAsked + 6min;
  EXPECT_EQ(state_of_swap(kAsked, job, kAsked + 12h).turn, SwapTurn::give_up) << "a guard rail stayed closed";
  EXPECT_EQ(state_of_swap(kAsked, {}, kAsked + 129min).turn, SwapTurn::wait);
  EXPECT_EQ(state_of_swap(kAsked, {}, kAsked + 130min).turn, SwapTurn::give_up);
}

TEST(Swap, impossible_intervals_count_as_unknown_or_as_the_longest) {
  for (const double seconds :
       {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_EQ(state_of_swap(kAsked, with_interval(seconds), kAsked + 130min).turn, SwapTurn::give_up)
        << seconds;
  EXPECT_EQ(state_of_swap(kAsked, with_interval(1e300), kAsked + 11h).turn, SwapTurn::wait);
  EXPECT_EQ(state_of_swap(kAsked, with_interval(1e300), kAsked + 12h).turn, SwapTurn::give_up);
  EXPECT_EQ(state_of_swap(kAsked, with_interval(1), kAsked + 30min).turn, SwapTurn::give_up);
}

}  // namespace
}  // namespace autopilot::jobs::swap_test
