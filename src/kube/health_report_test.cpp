// SPDX-License-Identifier: Apache-2.0
#include "kube/health_report.hpp"

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

}  // namespace
}  // namespace autopilot::kube
