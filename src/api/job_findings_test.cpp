// SPDX-License-Identifier: Apache-2.0
#include "api/job_findings.hpp"

#include <boost/json.hpp>
#include <chrono>
#include <gtest/gtest.h>
#include <limits>

namespace autopilot::api {
namespace {

template <class T>
boost::json::object written(const T& value) {
  JsonWriter json;
  json.begin_object();
  write_members(json, value);
  json.end_object();
  return boost::json::parse(json.take()).as_object();
}

TEST(JobFindings, a_finding_has_culprit_evidence_and_decision) {
  jobs::JobFinding finding;
  finding.id = "j/slow/gpu-001/3";
  finding.job = "j";
  finding.effect = jobs::Effect::slow;
  finding.severity = jobs::Severity::page;
  finding.culprit = {jobs::EntityKind::gpu, "gpu-001", 3, ""};
  finding.ranks = {3, 11};
  finding.onset = WallTime{std::chrono::seconds{1767225600}};
  finding.slowdown = 0.1;
  finding.evidence.push_back(
      {jobs::Family::clock, "sm_clock_low", "1,200 MHz", 1200, 1755, std::nullopt, 2.5, {}});
  finding.decision.choice = jobs::Choice::swap_at_checkpoint;
  const auto json = written(finding);
  EXPECT_EQ(json.at("culprit").at("kind"), "gpu");
  EXPECT_EQ(json.at("culprit").at("gpu"), 3);
  EXPECT_EQ(json.at("culprit").at("text"), "GPU 3 of gpu-001");
  EXPECT_EQ(json.at("ranks"), (boost::json::array{3, 11}));
  EXPECT_EQ(json.at("onset"), "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(json.at("evidence").at(0).at("peers"), 1755.0);
  EXPECT_FALSE(json.at("evidence").at(0).as_object().contains("threshold"));
  EXPECT_EQ(json.at("decision").at("choice"), "swap_at_checkpoint");
  EXPECT_FALSE(json.contains("resolved"));
}

TEST(JobFindings, a_leaf_and_what_is_unknown_have_their_own_form) {
  jobs::JobFinding finding;
  finding.culprit = {jobs::EntityKind::leaf, "leaf-1", -1, ""};
  finding.probability = std::numeric_limits<double>::quiet_NaN();
  const auto json = written(finding);
  EXPECT_EQ(json.at("culprit").at("leaf"), "leaf-1");
  EXPECT_FALSE(json.at("culprit").as_object().contains("gpu"));
  EXPECT_FALSE(json.contains("probability"));
  EXPECT_FALSE(json.contains("slowdown"));
}

TEST(JobFindings, the_state_of_a_job_lists_what_is_not_seen) {
  jobs::JobState job;
  job.job = "j";
  job.health = jobs::JobHealth::hung;
  job.not_seen = {"collectives"};
  const auto json = written(job);
  EXPECT_EQ(json.at("health"), "hung");
  EXPECT_EQ(json.at("notSeen").at(0), "collectives");
  EXPECT_FALSE(json.contains("step"));
}

}  // namespace
}  // namespace autopilot::api
