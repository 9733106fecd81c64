// SPDX-License-Identifier: Apache-2.0
#include "incidents/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::incidents {
namespace {

CheckResult result(const std::string& check, Health health, bool required = false) {
  CheckResult result;
  result.check = check;
  result.health = health;
  result.required = required;
  result.completed = WallTime{std::chrono::seconds{1}};
  if (health == Health::healthy) return result;
  Finding finding;
  finding.health = health;
  finding.reason = health == Health::unknown ? std::string(kNotPermitted) : "some_reason";
  result.findings.push_back(finding);
  return result;
}

Incident incident(SubjectKind blamed, double confidence, Health health, Action action) {
  Incident incident;
  incident.blamed.kind = blamed;
  incident.confidence = confidence;
  incident.action = action;
  incident.members.push_back({"gpu.x", {}, false, std::nullopt});
  incident.members[0].finding.health = health;
  return incident;
}

Verdict verdict(const CheckResults& results, const std::vector<Incident>& incidents = {},
                bool has_accelerator = true, bool testing = false) {
  return verdict_of({results, incidents, has_accelerator, testing});
}

TEST(Verdict, waits_for_every_required_check) {
  auto pending = result("gpu.driver", Health::unknown, true);
  pending.completed = {};
  pending.findings.clear();
  EXPECT_EQ(verdict({pending}), Verdict::none);
  EXPECT_EQ(verdict({pending}, {}, true, true), Verdict::none);
  pending.required = false;
  EXPECT_EQ(verdict({pending, result("host.clock", Health::healthy, true)}), Verdict::pass);
}

TEST(Verdict, pass_only_where_there_is_an_accelerator) {
  EXPECT_EQ(verdict({result("gpu.present", Health::healthy)}), Verdict::pass);
  EXPECT_EQ(verdict({result("gpu.present", Health::unsupported)}, {}, false), Verdict::none);
}

TEST(Verdict, warns_of_gpu_findings_and_required_checks_that_did_not_look) {
  EXPECT_EQ(verdict({result("gpu.ecc", Health::degraded)}), Verdict::warn);
  EXPECT_EQ(verdict({result("gpu.ecc", Health::failed)}), Verdict::warn);
  EXPECT_EQ(verdict({result("network.ping", Health::failed)}), Verdict::warn);
  EXPECT_EQ(verdict({result("storage.pvc", Health::failed)}), Verdict::warn);
  EXPECT_EQ(verdict({result("host.clock", Health::unknown, true)}), Verdict::warn);
}

TEST(Verdict, other_findings_have_their_own_conditions) {
  EXPECT_EQ(verdict({result("storage.filesystem", Health::failed, true)}), Verdict::pass);
  EXPECT_EQ(verdict({result("network.ib_port", Health::failed)}), Verdict::pass);
  EXPECT_EQ(verdict({result("gpu.xid", Health::unknown)}), Verdict::pass);
}

TEST(Verdict, a_finding_about_a_gpu_warns_whichever_check_makes_it) {
  auto lines = result("host.pcie", Health::degraded);
  EXPECT_EQ(verdict({lines}), Verdict::pass);
  lines.findings[0].subject.kind = SubjectKind::gpu;
  EXPECT_EQ(verdict({lines}), Verdict::warn);
}

TEST(Verdict, evicts_only_with_all_it_takes) {
  const auto failed = result("gpu.row_remap", Health::failed);
  const auto with = [&](SubjectKind kind, double confidence, Health health, Action action) {
    return verdict({failed}, {incident(kind, confidence, health, action)});
  };
  EXPECT_EQ(with(SubjectKind::gpu, 0.8, Health::failed, Action::replace), Verdict::evict);
  EXPECT_EQ(with(SubjectKind::nvswitch, 0.9, Health::failed, Action::reboot_node), Verdict::evict);
  EXPECT_EQ(with(SubjectKind::gpu, 0.79, Health::failed, Action::replace), Verdict::warn);
  EXPECT_EQ(with(SubjectKind::gpu, 0.8, Health::degraded, Action::replace), Verdict::warn);
  EXPECT_EQ(with(SubjectKind::gpu, 0.8, Health::failed, Action::contact_vendor), Verdict::warn);
  EXPECT_EQ(with(SubjectKind::disk, 0.9, Health::failed, Action::replace), Verdict::warn);
}

TEST(Verdict, a_fatal_test_of_dcgm_evicts_whether_it_names_a_device_or_not) {
  for (const char* check : {"gpu.diagnosis", "gpu.dcgm"}) {
    auto tested = result(check, Health::failed);
    EXPECT_EQ(verdict({tested}), Verdict::warn) << check;
    tested.findings[0].action = Action::drain_then_reset_gpu;
    EXPECT_EQ(verdict({tested}), Verdict::evict) << check;
    tested.findings[0].injected = true;
    EXPECT_EQ(verdict({tested}), Verdict::pass) << check;
    EXPECT_EQ(verdict({result(check, Health::degraded)}), Verdict::warn) << check;
  }
}

TEST(Verdict, evict_lasts_until_the_clear_rule_fired) {
  auto recovering = incident(SubjectKind::gpu, 0.9, Health::failed, Action::reset_gpu);
  recovering.state = IncidentState::recovering;
  EXPECT_EQ(verdict({}, {recovering}), Verdict::evict);
  recovering.state = IncidentState::closed;
  EXPECT_EQ(verdict({}, {recovering}), Verdict::pass);
}

TEST(Verdict, what_was_injected_never_counts) {
  auto failed = result("gpu.row_remap", Health::failed);
  failed.findings[0].injected = true;
  auto made_up = incident(SubjectKind::gpu, 0.9, Health::failed, Action::replace);
  made_up.injected = true;
  EXPECT_EQ(verdict({failed}, {made_up}), Verdict::pass);
}

TEST(Verdict, testing_comes_first) {
  EXPECT_EQ(verdict({}, {incident(SubjectKind::gpu, 0.9, Health::failed, Action::replace)}, true, true),
            Verdict::testing);
}

TEST(NodeHealth, is_decided_by_the_worst_that_matters) {
  const auto healthy = result("a", Health::healthy);
  const auto degraded = result("b", Health::degraded);
  const auto failed = result("c", Health::failed);
  const auto blind = result("d", Health::unknown);
  const auto blind_required = result("e", Health::unknown, true);
  EXPECT_EQ(node_health(CheckResults{healthy, degraded, failed, blind_required}), Health::failed);
  EXPECT_EQ(node_health(CheckResults{healthy, degraded, blind_required}), Health::unknown);
  EXPECT_EQ(node_health(CheckResults{healthy, degraded, blind}), Health::degraded);
  EXPECT_EQ(node_health(CheckResults{healthy, blind}), Health::healthy);
  EXPECT_EQ(node_health(CheckResults{blind}), Health::unknown);
  EXPECT_EQ(node_health(CheckResults{result("f", Health::unsupported)}), Health::unknown);
  EXPECT_EQ(node_health(CheckResults{}), Health::unknown);
}

TEST(NodeHealth, does_not_count_what_was_injected) {
  auto exercise = result("gpu.xid", Health::healthy);
  exercise.findings = result("", Health::failed).findings;
  exercise.findings[0].injected = true;
  EXPECT_EQ(node_health(CheckResults{exercise}), Health::healthy);
}

TEST(NodeHealth, sees_the_degraded_subject_beside_the_unknown_one) {
  auto mixed = result("storage.filesystem", Health::unknown);
  mixed.findings.push_back(result("", Health::degraded).findings[0]);
  EXPECT_EQ(node_health(CheckResults{mixed}), Health::degraded);
}

TEST(CoverageOf, counts_those_that_looked_and_names_the_rights) {
  CheckInfo xid;
  xid.id = "gpu.xid";
  xid.rights = {"CAP_SYSLOG"};
  CheckInfo memory = xid;
  memory.id = "host.memory";
  auto late = result("host.memory", Health::unknown);
  late.findings[0].reason = "timed_out";
  const auto coverage =
      coverage_of(CheckResults{result("a", Health::healthy), result("b", Health::failed),
                               result("c", Health::unsupported), result("gpu.xid", Health::unknown), late},
                  std::vector{xid, memory});
  EXPECT_EQ(coverage.looked, 2);
  EXPECT_EQ(coverage.of, 4);
  EXPECT_THAT(coverage.missing_rights, ::testing::ElementsAre("CAP_SYSLOG"));
}

}  // namespace
}  // namespace autopilot::incidents
