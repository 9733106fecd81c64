// SPDX-License-Identifier: Apache-2.0
#include "kube/job_health_reports.hpp"

#include <boost/json.hpp>
#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace autopilot::kube::job_health_reports_test {
namespace {

constexpr WallTime kTime{std::chrono::seconds{1767225630}};

JobHealthReport large_report() {
  JobHealthReport report;
  report.job = "ml/llama";
  report.health = "hung";
  report.culprit = "GPU 3 of n1";
  report.since = kTime;
  report.updated = kTime;
  report.nodes = std::vector<std::string>(1000, std::string(300, 'n'));
  report.node_count = 1000;
  ReportedJobFinding finding{.id = "f", .summary = std::string(9000, '\x01')};
  finding.evidence = std::vector<std::string>(100, std::string(2000, '"'));
  report.findings = std::vector<ReportedJobFinding>(100, finding);
  report.not_seen = std::vector<std::string>(100, std::string(2000, '\xFF'));
  report.afterwards = ReportedAfterwards{.text = std::string(9000, 'a'), .nodes = {}};
  report.afterwards->nodes = std::vector<ReportedNodeValidation>(
      100, {.node = "n1", .verdict = "failed", .text = std::string(9000, '"')});
  return report;
}

TEST(JobHealthReports, survive_writing_and_reading) {
  JobHealthReport report;
  report.job = "ml/llama";
  report.health = "slow";
  report.nodes = {"n1"};
  report.node_count = 1;
  report.step = 7;
  report.step_s = 1.5;
  report.ended = kTime;
  report.outcome = "failed";
  report.findings = {{.id = "f", .effect = "slow", .since = kTime, .resolved = kTime, .evidence = {"e"}}};
  report.failure = ReportedJobFailure{.kind = "hardware", .time = kTime, .not_available = {"logs"}};
  report.afterwards = ReportedAfterwards{
      .text = "1 of 2 nodes not as good as before: n1",
      .passed = 1,
      .failed = 1,
      .unknown = 0,
      .nodes = {{.node = "n1", .verdict = "failed", .text = "gpu.ecc: GPU 0", .time = kTime}}};
  report.memory = R"({"version":1})";
  const auto read = parse_job_health_report(job_health_report_json("x", report));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(read->memory, report.memory);
  EXPECT_EQ(read->findings, report.findings);
  EXPECT_EQ(read->failure, report.failure);
  EXPECT_EQ(read->afterwards, report.afterwards);
  EXPECT_EQ(read->step, 7);
  EXPECT_EQ(read->step_s, 1.5);
  EXPECT_EQ(read->ended, kTime);
  EXPECT_EQ(read->meta.name, "x");
}

TEST(JobHealthReports, are_at_most_32_KiB_and_lose_evidence_first) {
  const std::string text = job_health_report_json("x", large_report());
  EXPECT_LE(text.size(), JobHealthReport::kMaxBytes);
  EXPECT_LE(job_health_report_patch(large_report()).size(), JobHealthReport::kMaxBytes + 1024);
  const auto read = parse_job_health_report(text);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->health, "hung");
  EXPECT_EQ(read->node_count, 1000);
  JobHealthReport full;
  full.memory = std::string(JobHealthReport::kMaxMemoryBytes + 1, 'm');
  EXPECT_EQ(parse_job_health_report(job_health_report_json("x", full))->memory, "");
}

TEST(JobHealthReports, a_patch_removes_what_is_over_and_keeps_actions) {
  JobHealthReport report;
  report.job = "ml/llama";
  report.health = "running";
  const auto patch = boost::json::parse(job_health_report_patch(report)).as_object();
  EXPECT_TRUE(patch.at("spec").as_object().at("culprit").is_null());
  EXPECT_TRUE(patch.at("spec").as_object().at("failure").is_null());
  EXPECT_TRUE(patch.at("spec").as_object().at("afterwards").is_null());
  EXPECT_TRUE(patch.at("status").as_object().at("memory").is_null());
  EXPECT_FALSE(patch.contains("actions"));
  const auto action = boost::json::parse(job_action_patch("f", {.choice = "stop_now", .state = "planned"}));
  EXPECT_EQ(action.at("actions").at("f").at("state"), "planned");
}

TEST(JobHealthReports, a_name_is_one_of_kubernetes_and_differs_for_each_job) {
  const std::string name = job_health_report_name("ml/Llama_70B run#1");
  EXPECT_EQ(name.substr(0, name.size() - 11), "llama-70b-run-1");
  EXPECT_NE(job_health_report_name("a/x"), job_health_report_name("b/x"));
  EXPECT_LE(job_health_report_name(std::string(5000, 'x')).size(), 253);
  EXPECT_EQ(job_health_report_name("///").substr(0, 4), "job-");
}

TEST(JobHealthReports, other_content_gives_defaults) {
  EXPECT_FALSE(parse_job_health_report("[]"));
  const auto read = parse_job_health_report(
      R"({"spec":{"job":3,"step":"x","findings":[1,{"id":[]}],"failure":[],"nodes":{},"afterwards":{"nodes":[1,{"node":2}],"failed":"x"}},"actions":{"f":2}})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->job, "");
  EXPECT_FALSE(read->step);
  EXPECT_FALSE(read->failure);
  EXPECT_EQ(read->findings.size(), 1);
  EXPECT_EQ(read->afterwards->failed, 0);
  EXPECT_EQ(read->afterwards->nodes.size(), 1);
  EXPECT_TRUE(read->actions.empty());
}

}  // namespace
}  // namespace autopilot::kube::job_health_reports_test
