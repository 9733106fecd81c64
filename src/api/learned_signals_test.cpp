// SPDX-License-Identifier: Apache-2.0
#include "api/learned_signals.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::api {
namespace {

learning::SignalFinding judged(std::vector<std::string> signals, learning::LabelAnswer answer, double trust) {
  return {.finding = "f",
          .place = "n1",
          .time = WallTime{std::chrono::days(20'000)},
          .signals = std::move(signals),
          .answer = answer,
          .trust = trust};
}

TEST(JudgedFindings, are_compared_with_labels_that_settle_them) {
  using learning::LabelAnswer;
  const std::vector<std::string> slow{"sm_clock_low"};
  const std::vector<learning::SignalFinding> findings{
      judged(slow, LabelAnswer::faulty, 0.9), judged(slow, LabelAnswer::healthy, 0.9),
      judged(slow, LabelAnswer::healthy, 0.5), judged(slow, LabelAnswer::unclear, 0)};
  const learning::SignalJudgement shipped = judge_findings(findings, nullptr);
  EXPECT_EQ(shipped.accusing, 4U);
  EXPECT_EQ(shipped.wrong, 1U);
  EXPECT_EQ(shipped.missed, 0U);
  jobs::SignalWeights weights;
  weights.version = "v";
  weights.log_odds = {{"sm_clock_low", -1}};
  const learning::SignalJudgement silent = judge_findings(findings, &weights);
  EXPECT_EQ(silent.accusing, 0U);
  EXPECT_EQ(silent.wrong, 0U);
  EXPECT_EQ(silent.missed, 1U);
}

}  // namespace
}  // namespace autopilot::api
