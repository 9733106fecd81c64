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

// The result of a run of the check that took `took`, with the observation of a diagnostic at `tested`;
// nullopt: without observations.
CheckResult run(WallTime completed, Duration took, std::optional<WallTime> tested = {}) {
  CheckResult result;
  result.completed = completed;
  result.duration = took;
  if (!tested) return result;
  Observation found;
  found.attributes = {{"testedAt", format_time(*tested)}};
  result.observations = Observations{found};
  return result;
}

TEST(TestJudgement, a_run_before_the_end_does_not_judge_the_diagnostic) {
  for (const OperationState state :
       {OperationState::succeeded, OperationState::cancelled, OperationState::timed_out})
    EXPECT_FALSE(has_judged(ended(state), run(kEnded - 1s, 0s, kBegan - 600s)));
}

TEST(TestJudgement, the_first_run_after_a_success_judges_it) {
  EXPECT_TRUE(has_judged(ended(OperationState::succeeded), run(kEnded, 30s)));
}

// The run began before the end and may have read older results.
TEST(TestJudgement, a_run_that_overlaps_a_stop_does_not_judge_the_diagnostic) {
  for (const OperationState state : {OperationState::cancelled, OperationState::timed_out}) {
    EXPECT_FALSE(has_judged(ended(state), run(kEnded + 1s, 2s)));
    EXPECT_FALSE(has_judged(ended(state), run(kEnded + 1s, 2s, kBegan - 600s)));
    EXPECT_TRUE(has_judged(ended(state), run(kEnded + 3s, 2s)));
  }
}

TEST(TestJudgement, a_run_with_results_judges_a_stopped_diagnostic) {
  EXPECT_TRUE(has_judged(ended(OperationState::cancelled), run(kEnded + 1s, 2s, kBegan)));
  EXPECT_TRUE(has_results_of(ended(OperationState::cancelled), run(kEnded + 1s, 2s, kBegan + 30s)));
  EXPECT_FALSE(has_results_of(ended(OperationState::cancelled), run(kEnded + 1s, 2s, kBegan - 600s)));
  EXPECT_FALSE(has_results_of(ended(OperationState::cancelled), run(kEnded + 1s, 2s)));
}

}  // namespace

}  // namespace autopilot::cli
