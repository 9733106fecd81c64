// SPDX-License-Identifier: Apache-2.0
#include "cli/kubectl/jobs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli::kubectl_jobs_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr WallTime kNow{std::chrono::seconds(1767225600)};

kube::JobHealthReport sample(const std::string& job, const std::string& health) {
  kube::JobHealthReport report;
  report.job = job;
  report.name = "llama";
  report.health = health;
  report.node_count = 8;
  report.since = kNow - std::chrono::minutes(5);
  return report;
}

kube::JobHealthReport hung() {
  kube::JobHealthReport report = sample("ml/b", "hung");
  report.culprit = "GPU 3 of gpu-001";
  report.findings.push_back({.id = "0123456789abcdef",
                             .effect = "hang",
                             .severity = "page",
                             .culprit = "GPU 3 of gpu-001",
                             .summary = "No step has ended for 5 minutes.",
                             .choice = "stop_now",
                             .evidence = {"rank 3 started 911 collectives, the others 912"}});
  return report;
}

TEST(KubectlJobs, a_job_that_hangs_is_first_and_names_its_culprit) {
  std::vector<kube::JobHealthReport> reports{sample("ml/a", "running"), hung()};
  sort_by_trouble(reports);
  EXPECT_EQ(reports[0].job, "ml/b");
  const std::string table = render_job_reports(reports, kNow, {});
  EXPECT_THAT(table, HasSubstr("GPU 3 of gpu-001"));
  EXPECT_LT(table.find("ml/b"), table.find("ml/a"));
}

TEST(KubectlJobs, why_states_the_cause_and_the_evidence) {
  const std::string page = render_job_cause(hung(), kNow);
  EXPECT_THAT(page, HasSubstr("ml/b is hung"));
  EXPECT_THAT(page, HasSubstr("No step has ended"));
  EXPECT_THAT(page, HasSubstr("rank 3 started 911"));
  EXPECT_THAT(page, HasSubstr("stop_now"));
  EXPECT_THAT(render_job_cause(sample("ml/a", "running"), kNow), HasSubstr("Nothing is known to be wrong"));
}

TEST(KubectlJobs, an_ended_job_states_which_nodes_are_not_as_good_as_before) {
  kube::JobHealthReport report = sample("ml/a", "ended");
  report.outcome = "failed";
  report.afterwards = kube::ReportedAfterwards{
      .text = "1 of 8 nodes not as good as before: node-7 (network.rdma: down); restart without node-7",
      .passed = 7,
      .failed = 1,
      .unknown = 0,
      .nodes = {{.node = "node-7", .verdict = "failed", .text = "network.rdma: bad\x1b[31m", .time = kNow}}};
  EXPECT_THAT(render_job_cause(report, kNow), HasSubstr("Afterwards: 1 of 8 nodes not as good as before"));
  const std::string page = render_job_report(report, kNow, {});
  EXPECT_THAT(page, HasSubstr("restart without node-7"));
  EXPECT_THAT(page, HasSubstr("  - node-7: failed: network.rdma"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
}

TEST(KubectlJobs, a_display_name_of_two_jobs_is_not_enough) {
  const std::vector<kube::JobHealthReport> reports{sample("ml/a", "running"), hung()};
  EXPECT_EQ(find_job(reports, "llama"), nullptr);
  ASSERT_NE(find_job(reports, "ml/b"), nullptr);
  EXPECT_EQ(find_job(reports, "ml/b")->health, "hung");
}

TEST(KubectlJobs, control_characters_of_the_cluster_are_not_printed) {
  kube::JobHealthReport report = hung();
  report.findings[0].summary = "bad\x1b[31m";
  EXPECT_THAT(render_job_cause(report, kNow), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace autopilot::cli::kubectl_jobs_test
