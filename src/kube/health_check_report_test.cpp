// SPDX-License-Identifier: Apache-2.0
#include "kube/health_check_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::kube {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

HealthCheckReport sample_report() {
  HealthCheckReport report;
  report.meta.name = "gpu-7-0123456789";
  report.meta.name_space = "autopilot";
  report.node = "gpu-7";
  report.pod = {"team-a", "train-0", "uid-1"};
  report.job = ReportedJob{"batch/v1", "Job", "train", "uid-2"};
  report.tests = {"gpu.pcie_bandwidth"};
  report.gpus = {"GPU-a"};
  report.outcome = ReportedOutcome::failed;
  report.is_let_in = true;
  report.message = "GPU 3 takes 2 GB/s from the host";
  report.findings = {{"gpu/0000:3b:00.0",
                      "gpu.pcie_bandwidth",
                      Health::degraded,
                      "pcie_bandwidth_low",
                      "takes 2 GB/s",
                      {{"value", "2"}}}};
  report.issuer = "2026-11-21T03:04:05.000Z_7";
  report.time = parse_time("2026-11-21T03:04:05Z");
  return report;
}

HealthCheckReport read_report(const std::string& text) {
  const auto report = parse_health_check_report(text);
  EXPECT_TRUE(report) << report.error().what;
  return report.value_or(HealthCheckReport{});
}

TEST(HealthCheckReport, is_read_as_it_was_written) {
  const HealthCheckReport written = sample_report();
  const HealthCheckReport report = read_report(health_check_report_json(written));
  EXPECT_EQ(report.meta.name, written.meta.name);
  EXPECT_EQ(report.node, written.node);
  EXPECT_EQ(report.pod, written.pod);
  EXPECT_EQ(report.job, written.job);
  EXPECT_EQ(report.tests, written.tests);
  EXPECT_EQ(report.gpus, written.gpus);
  EXPECT_EQ(report.outcome, written.outcome);
  EXPECT_TRUE(report.is_let_in);
  EXPECT_EQ(report.message, written.message);
  EXPECT_EQ(report.findings, written.findings);
  EXPECT_EQ(report.issuer, written.issuer);
  EXPECT_EQ(report.time, written.time);
  EXPECT_FALSE(report.is_simulated);
}

TEST(HealthCheckReport, has_a_status_of_its_own) {
  HealthCheckReport report = sample_report();
  report.phase = ReportPhase::acted;
  report.plan = "plan-1";
  report.acted = report.time;
  const std::string patch = health_check_status_patch(report);
  EXPECT_THAT(patch, Not(HasSubstr("spec")));
  EXPECT_THAT(patch, HasSubstr("\"undone\":null"));
  const HealthCheckReport again = read_report(patch);
  EXPECT_EQ(again.phase, ReportPhase::acted);
  EXPECT_EQ(again.plan, "plan-1");
  EXPECT_EQ(again.acted, report.time);
  EXPECT_FALSE(again.undone);
  report.meta.version = "12";
  EXPECT_THAT(health_check_status_patch(report), HasSubstr(R"("metadata":{"resourceVersion":"12"})"));
  EXPECT_THAT(health_check_report_json(report), Not(HasSubstr("status")));
}

TEST(HealthCheckReport, what_is_beyond_the_limits_is_cut) {
  HealthCheckReport report = sample_report();
  report.tests.assign(100, "t");
  report.gpus.assign(100, "g");
  report.findings.assign(100, report.findings[0]);
  report.findings[0].message = std::string(5000, 'm');
  for (int i = 0; i < 50; ++i)
    report.findings[0].evidence["e" + std::to_string(i)] = std::string(5000, 'v');
  const HealthCheckReport cut = read_report(health_check_report_json(report));
  EXPECT_EQ(cut.tests.size(), HealthCheckReport::kMostTests);
  EXPECT_EQ(cut.gpus.size(), HealthCheckReport::kMostGpus);
  EXPECT_EQ(cut.findings.size(), HealthCheckReport::kMostFindings);
  EXPECT_EQ(cut.findings[0].message.size(), HealthCheckReport::kLongestText);
  EXPECT_EQ(cut.findings[0].evidence.size(), HealthCheckReport::kMostEvidence);
  EXPECT_EQ(cut.findings[0].evidence.begin()->second.size(), HealthCheckReport::kLongestEvidence);
}

TEST(HealthCheckReport, what_makes_no_sense_is_nothing) {
  const HealthCheckReport report =
      read_report(R"({"spec": {"outcome": "great", "time": 7, "job": [], "tests": [1, "a"],
    "findings": [7, {"health": "odd", "evidence": {"a": 1}}]}, "status": {"phase": "odd"}})");
  EXPECT_FALSE(report.outcome);
  EXPECT_FALSE(report.time);
  EXPECT_FALSE(report.job);
  EXPECT_EQ(report.tests, std::vector<std::string>{"a"});
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].health, Health::unknown);
  EXPECT_EQ(report.phase, ReportPhase::pending);
  EXPECT_FALSE(parse_health_check_report("[]"));
}

TEST(HealthCheckReport, its_name_is_that_of_the_pod_and_its_tests) {
  const std::string name = health_check_report_name("gpu-7", "uid-1", {"a", "b"});
  EXPECT_THAT(name, MatchesRegex("gpu-7-[0-9a-f]{10}"));
  EXPECT_EQ(health_check_report_name("gpu-7", "uid-1", {"b", "a"}), name);
  EXPECT_NE(health_check_report_name("gpu-7", "uid-2", {"a", "b"}), name);
  EXPECT_NE(health_check_report_name("gpu-7", "uid-1", {"a"}), name);
  EXPECT_EQ(health_check_report_name(std::string(253, 'n'), "u", {}).size(), 253U);
}

}  // namespace
}  // namespace autopilot::kube
