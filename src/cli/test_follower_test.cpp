// SPDX-License-Identifier: Apache-2.0
#include "cli/test_follower.hpp"

#include <gtest/gtest.h>

#include "core/clock.hpp"

namespace autopilot::cli {

namespace {

using namespace std::chrono_literals;

constexpr WallTime kBegan{1'800'000'000s};
constexpr WallTime kEnded = kBegan + 60s;

Operation ended(OperationState state) {
  Operation operation;
  operation.state = state;
  operation.created = kBegan - 5s;
  operation.started = kBegan;
  operation.finished = kEnded;
  return operation;
}

// A look that took so long, with what a test that began then found; nothing: with nothing of any test.
CheckResult look(WallTime completed, Duration took, std::optional<WallTime> tested = {}) {
  CheckResult result;
  result.completed = completed;
  result.duration = took;
  if (!tested) return result;
  Observation found;
  found.attributes = {{"testedAt", format_time(*tested)}};
  result.observations = Observations{found};
  return result;
}

TEST(TestJudgement, a_look_that_is_older_than_the_test_does_not_judge_it) {
  for (const OperationState state :
       {OperationState::succeeded, OperationState::cancelled, OperationState::timed_out})
    EXPECT_FALSE(has_judged(ended(state), look(kEnded - 1s, 0s, kBegan - 600s)));
}

TEST(TestJudgement, what_succeeded_is_judged_by_the_first_look_after_it) {
  EXPECT_TRUE(has_judged(ended(OperationState::succeeded), look(kEnded, 30s)));
}

// It began before the end, and may have read what was there before.
TEST(TestJudgement, what_was_ended_is_not_judged_by_a_look_that_was_under_way) {
  for (const OperationState state : {OperationState::cancelled, OperationState::timed_out}) {
    EXPECT_FALSE(has_judged(ended(state), look(kEnded + 1s, 2s)));
    EXPECT_FALSE(has_judged(ended(state), look(kEnded + 1s, 2s, kBegan - 600s)));
    EXPECT_TRUE(has_judged(ended(state), look(kEnded + 3s, 2s)));
  }
}

TEST(TestJudgement, what_was_ended_is_judged_by_any_look_that_tells_what_it_found) {
  EXPECT_TRUE(has_judged(ended(OperationState::cancelled), look(kEnded + 1s, 2s, kBegan)));
  EXPECT_TRUE(tells_of(ended(OperationState::cancelled), look(kEnded + 1s, 2s, kBegan + 30s)));
  EXPECT_FALSE(tells_of(ended(OperationState::cancelled), look(kEnded + 1s, 2s, kBegan - 600s)));
  EXPECT_FALSE(tells_of(ended(OperationState::cancelled), look(kEnded + 1s, 2s)));
}

}  // namespace

}  // namespace autopilot::cli
