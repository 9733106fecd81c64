// SPDX-License-Identifier: Apache-2.0
#include "jobs/scoring/labelled_findings.hpp"

#include <gtest/gtest.h>

namespace autopilot::jobs {
namespace {

constexpr WallTime kLabelled{std::chrono::hours(2000)};

JobFinding accusing(const std::string& node, int minute) {
  JobFinding finding{.id = node + std::to_string(minute), .job = "a", .effect = Effect::slow};
  finding.culprit = {EntityKind::gpu, node, 1, {}};
  finding.onset = finding.detected = kLabelled + minute * std::chrono::minutes(1);
  finding.evidence = {{.signal = "sm_clock_low", .log_odds = 4}, {.signal = "temp_high", .log_odds = 0}};
  return finding;
}

TEST(LabelledFindings, are_right_at_the_place_and_time_of_a_fault_and_wrong_elsewhere) {
  const Labels labels{
      .faults = {{.onset = kLabelled, .end = kLabelled + 30 * std::chrono::minutes(1), .node = "n1"}},
      .begin = kLabelled - 60 * std::chrono::minutes(1),
      .end = kLabelled + 60 * std::chrono::minutes(1)};
  RunLog log;
  for (const JobFinding& finding : {accusing("n1", 8), accusing("n2", 9), accusing("n1", 50)})
    log.add(finding, finding.detected);
  JobFinding hang = accusing("n3", 10);
  hang.effect = Effect::hang;  // no signals decide about it
  log.add(hang, hang.detected);
  log.add(accusing("n4", 100), kLabelled + 100 * std::chrono::minutes(1));  // outside of the labelled time
  const std::vector<LabelledFinding> found = label_findings(labels, log);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_TRUE(found[0].is_right);
  EXPECT_FALSE(found[1].is_right);
  EXPECT_FALSE(found[2].is_right);
  EXPECT_EQ(found[0].signals, std::vector<std::string>{"sm_clock_low"});
}

}  // namespace
}  // namespace autopilot::jobs
