// SPDX-License-Identifier: Apache-2.0

#include "kube/health_reports.hpp"

#include <boost/json.hpp>
#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/json_object.hpp"

namespace autopilot::kube {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <class T>
T read_health(T (*parse)(const JsonObject&), std::string_view text) {
  const auto value = boost::json::parse({text.data(), text.size()});
  return parse({value.as_object()});
}

constexpr std::string_view kReport = R"({
  "apiVersion": "autopilot.ibm.com/v1alpha1", "kind": "NodeHealthReport", "metadata": {"name": "gpu-7"},
  "status": {"observedAt": "2026-11-21T08:00:00.500Z", "bootId": "b", "simulated": true, "health": "failed", "verdict": "WARN",
    "written": {"verdict": "EVICT", "evicting": [{"incident": "0a-1", "acknowledged": false}]},
    "coverage": {"looked": 30, "of": 31, "summary": "30 of 31", "missingRights": ["CAP_SYSLOG"]},
    "checks": [{"check": "gpu.xid", "health": "failed", "required": true, "message": "gpu: off the bus"},
               {"check": "host.clock", "health": "odd", "required": true}],
    "worstIncident": "the GPU is lost",
    "incidents": [{"id": "0a-1", "state": "open", "check": "gpu.xid", "reason": "xid", "cause": "fallen_off", "health": "failed",
                   "blamed": {"kind": "gpu", "key": "0000:3b:00.0"}, "action": "power_cycle", "summary": "the GPU is lost",
                   "opened": "2026-11-21T07:00:00Z", "acknowledged": true},
                  {"id": "0a-2", "state": "recovering", "check": "c", "reason": "r", "health": "degraded",
                   "blamed": {"kind": "host", "key": ""}, "injected": true}],
    "incidentsLeftOut": 3,
    "gpus": [{"key": "0000:3b:00.0", "uuid": "GPU-1", "health": "failed"}, {"key": "0000:4b:00.0", "health": "healthy"}],
    "passRecords": [{"gpuUuid": "GPU-1", "test": "gpu.diagnosis", "time": "2026-11-20T08:00:00Z"}, {"test": 7}]}})";

TEST(HealthReport, says_what_stands_on_the_node_and_why) {
  using namespace std::chrono_literals;
  const HealthReport report = read_health<HealthReport>(parse_health_report, kReport);
  EXPECT_EQ(report.node, "gpu-7");
  EXPECT_EQ(report.observed, parse_time("2026-11-21T08:00:00Z").value() + 500ms);
  EXPECT_EQ(report.health, Health::failed);
  EXPECT_EQ(report.written, Verdict::evict);
  EXPECT_EQ(report.looked, "30 of 31");
  EXPECT_EQ(report.worst_incident, "the GPU is lost");
  EXPECT_TRUE(report.is_simulated);
}

TEST(HealthReport, has_incidents_and_checks) {
  const ReportDetails details = read_health<ReportDetails>(parse_report_details, kReport);
  EXPECT_THAT(details.missing_rights, ElementsAre("CAP_SYSLOG"));
  ASSERT_EQ(details.incidents.size(), 2U);
  const ReportedIncident& incident = details.incidents[0];
  EXPECT_EQ(incident.id, "0a-1");
  EXPECT_EQ(incident.state, "open");
  EXPECT_EQ(incident.check, "gpu.xid");
  EXPECT_EQ(incident.reason, "xid");
  EXPECT_EQ(incident.cause, "fallen_off");
  EXPECT_EQ(incident.blamed, "gpu/0000:3b:00.0");
  EXPECT_EQ(incident.health, Health::failed);
  EXPECT_EQ(incident.action, "power_cycle");
  EXPECT_EQ(incident.summary, "the GPU is lost");
  EXPECT_EQ(incident.opened, parse_time("2026-11-21T07:00:00Z"));
  EXPECT_TRUE(incident.is_acknowledged);
  EXPECT_FALSE(incident.is_injected);
  EXPECT_EQ(details.incidents[1].blamed, "host");
  EXPECT_TRUE(details.incidents[1].is_injected);
  EXPECT_EQ(details.incidents_left_out, 3);
  ASSERT_EQ(details.checks.size(), 2U);
  EXPECT_EQ(details.checks[0].id, "gpu.xid");
  EXPECT_EQ(details.checks[0].health, Health::failed);
  EXPECT_EQ(details.checks[0].message, "gpu: off the bus");
  EXPECT_TRUE(details.checks[0].is_required);
  EXPECT_EQ(details.checks[1].health, Health::unknown);
}

TEST(HealthReport, says_what_holds_the_word_and_what_passed) {
  const ReportDetails details = read_health<ReportDetails>(parse_report_details, kReport);
  ASSERT_EQ(details.evicting.size(), 1U);
  EXPECT_EQ(details.evicting[0].incident, "0a-1");
  EXPECT_FALSE(details.evicting[0].closed);
  EXPECT_FALSE(details.evicting[0].is_acknowledged);
  EXPECT_THAT(details.gpus, ElementsAre("GPU-1", ""));
  ASSERT_EQ(details.passes.size(), 2U);
  EXPECT_EQ(details.passes[0].gpu_uuid, "GPU-1");
  EXPECT_EQ(details.passes[0].test, "gpu.diagnosis");
  EXPECT_EQ(details.passes[0].time, parse_time("2026-11-20T08:00:00Z"));
  EXPECT_FALSE(details.passes[1].time);
}

TEST(HealthReport, what_is_missing_or_wrong_is_never_healthy) {
  for (const char* text :
       {"{}", R"({"status": 7})", R"({"metadata": [], "status": {"health": "splendid"}})",
        R"({"status": {"observedAt": 7, "health": {}, "incidents": 7, "checks": {}, "coverage": []}})"}) {
    const HealthReport report = read_health<HealthReport>(parse_health_report, text);
    EXPECT_EQ(report.health, Health::unknown) << text;
    EXPECT_FALSE(report.observed) << text;
    EXPECT_THAT(read_health<ReportDetails>(parse_report_details, text).incidents, IsEmpty()) << text;
  }
  const auto odd =
      read_health<HealthReport>(parse_health_report, R"({"status": {"written": {"verdict": "FINE"}}})");
  EXPECT_EQ(odd.written, std::nullopt);
  EXPECT_EQ(read_health<HealthReport>(parse_health_report, R"({"status": {}})").written, Verdict::none);
}

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
