// SPDX-License-Identifier: Apache-2.0
#include "job_hub/suspects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::job_hub::suspects_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

jobs::JobReport report_of(const std::string& job, jobs::JobHealth health) {
  jobs::JobReport report;
  report.state.job = job;
  report.state.health = health;
  report.nodes = {"n0", "n1"};
  return report;
}

jobs::JobReport hung(const std::string& job, const std::string& finding) {
  jobs::JobReport report = report_of(job, jobs::JobHealth::hung);
  report.findings.push_back({.id = finding, .job = job, .effect = jobs::Effect::slow});
  report.findings.push_back({.id = finding + "-hang", .job = job, .effect = jobs::Effect::hang});
  return report;
}

TEST(Suspects, each_node_of_a_job_that_stalls_or_hangs_is_told_until_it_goes_on) {
  Suspects suspects;
  suspects.note({report_of("a", jobs::JobHealth::stalled), report_of("b", jobs::JobHealth::running)});
  EXPECT_THAT(suspects.of("n1"), ElementsAre(api::SuspectedJob{"a", ""}));
  EXPECT_THAT(suspects.of("n2"), IsEmpty());
  suspects.note({hung("a", "f")});
  EXPECT_THAT(suspects.of("n0"), ElementsAre(api::SuspectedJob{"a", "f-hang"}));
  suspects.note({report_of("a", jobs::JobHealth::running)});
  EXPECT_THAT(suspects.of("n0"), IsEmpty());
}

TEST(Suspects, a_finding_that_is_resolved_and_a_job_that_ended_are_no_suspicion) {
  jobs::JobReport resolved = hung("a", "f");
  resolved.findings[1].resolved = WallTime(std::chrono::hours(1));
  EXPECT_THAT(suspicions_of(resolved), IsEmpty());
  jobs::JobReport ended = hung("a", "f");
  ended.ended = WallTime(std::chrono::hours(1));
  EXPECT_THAT(suspicions_of(ended), IsEmpty());
}

TEST(Suspects, what_one_node_is_told_and_what_is_held_have_a_limit) {
  Suspects suspects;
  std::vector<jobs::JobReport> many;
  for (std::size_t i = 0; i < Suspects::kMostJobs + 1; ++i)
    many.push_back(report_of("job" + std::to_string(i), jobs::JobHealth::stalled));
  many.back().nodes = {"last"};
  suspects.note(many);
  EXPECT_THAT(suspects.of("n0"), SizeIs(api::JobBatchAnswer::kMostSuspected));
  EXPECT_THAT(suspects.of("last"), IsEmpty());
}

}  // namespace
}  // namespace autopilot::job_hub::suspects_test
