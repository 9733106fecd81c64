// SPDX-License-Identifier: Apache-2.0
#include "incidents/verdict.hpp"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utility>

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

using std::chrono::seconds;

WallTime at(int second) {
  return WallTime{seconds{second}};
}

Incident evicting(const std::string& id) {
  Incident incident;
  incident.id = id;
  incident.blamed.kind = SubjectKind::gpu;
  incident.confidence = 0.9;
  incident.action = Action::reset_gpu;
  incident.members.push_back({"gpu.xid", {}, false, std::nullopt});
  incident.members[0].finding.health = Health::failed;
  return incident;
}

Incident recovering(const std::string& id) {
  Incident incident = evicting(id);
  incident.state = IncidentState::recovering;
  incident.members[0].cleared = at(5);
  return incident;
}

Incident acknowledged(Incident incident) {
  incident.acknowledged = Acknowledgement{"alice (uid 1000)", at(6), "replaced the card"};
  return incident;
}

// What stands on the node over time.
class Written {
 public:
  Verdict look(int second, Verdict verdict, const std::vector<Incident>& incidents,
               std::optional<WallTime> deep_test_passed = {}) {
    written_ = next_written(written_, {verdict, incidents, {}, deep_test_passed, at(second)});
    return written_.word;
  }

 private:
  WrittenVerdict written_;
};

TEST(WrittenVerdict, is_the_verdict_where_nothing_evicted) {
  Written written;
  for (const Verdict verdict : {Verdict::none, Verdict::pass, Verdict::warn, Verdict::testing, Verdict::pass})
    EXPECT_EQ(written.look(1, verdict, {}), verdict);
}

TEST(WrittenVerdict, what_a_deep_test_alone_says_needs_no_further_test) {
  Incident tested = evicting("a");
  tested.members[0].check = "gpu.diagnosis";
  Written written;
  EXPECT_EQ(written.look(1, Verdict::evict, {tested}), Verdict::evict);
  EXPECT_EQ(written.look(2, Verdict::pass, {}), Verdict::pass);
  // With another witness it does.
  tested.members.push_back(evicting("b").members[0]);
  EXPECT_EQ(written.look(3, Verdict::evict, {tested}), Verdict::evict);
  EXPECT_EQ(written.look(4, Verdict::pass, {}), Verdict::evict);
}

TEST(WrittenVerdict, evict_stays_until_a_deep_test_passed_after_the_incident_closed) {
  Written written;
  EXPECT_EQ(written.look(1, Verdict::evict, {evicting("a")}), Verdict::evict);
  EXPECT_EQ(written.look(2, Verdict::warn, {recovering("a")}), Verdict::evict);
  EXPECT_EQ(written.look(10, Verdict::pass, {}), Verdict::evict);
  // One that passed before says nothing.
  EXPECT_EQ(written.look(11, Verdict::pass, {}, at(9)), Verdict::evict);
  EXPECT_EQ(written.look(12, Verdict::testing, {}, at(9)), Verdict::testing);
  EXPECT_EQ(written.look(13, Verdict::pass, {}, at(9)), Verdict::evict);
  EXPECT_EQ(written.look(21, Verdict::warn, {}, at(20)), Verdict::warn);
  EXPECT_EQ(written.look(22, Verdict::pass, {}, at(20)), Verdict::pass);
}

TEST(WrittenVerdict, a_deep_test_does_not_clear_an_incident_that_is_open) {
  Written written;
  written.look(1, Verdict::evict, {evicting("a")});
  EXPECT_EQ(written.look(3, Verdict::warn, {recovering("a")}, at(2)), Verdict::evict);
}

TEST(WrittenVerdict, a_person_may_let_it_go) {
  Written written;
  // Not while it evicts by itself.
  EXPECT_EQ(written.look(1, Verdict::evict, {acknowledged(evicting("a"))}), Verdict::evict);
  EXPECT_EQ(written.look(2, Verdict::warn, {acknowledged(recovering("a"))}), Verdict::warn);
  EXPECT_EQ(written.look(3, Verdict::pass, {}), Verdict::pass);
}

TEST(WrittenVerdict, what_was_acknowledged_while_it_evicted_needs_no_test_when_it_closed) {
  Written written;
  written.look(1, Verdict::evict, {acknowledged(evicting("a"))});
  EXPECT_EQ(written.look(2, Verdict::pass, {}), Verdict::pass);
}

TEST(WrittenVerdict, each_incident_has_to_be_over) {
  Written written;
  written.look(1, Verdict::evict, {evicting("a"), evicting("b")});
  EXPECT_EQ(written.look(2, Verdict::evict, {evicting("b")}), Verdict::evict);
  EXPECT_EQ(written.look(4, Verdict::evict, {evicting("b")}, at(3)), Verdict::evict);
  EXPECT_EQ(written.look(5, Verdict::warn, {}, at(3)), Verdict::evict);
  EXPECT_EQ(written.look(7, Verdict::warn, {}, at(6)), Verdict::warn);
}

TEST(WrittenVerdict, one_that_comes_back_has_to_close_again) {
  Written written;
  written.look(1, Verdict::evict, {evicting("a")});
  written.look(2, Verdict::pass, {});
  written.look(3, Verdict::evict, {evicting("a")});
  EXPECT_EQ(written.look(4, Verdict::pass, {}, at(2)), Verdict::evict);
  EXPECT_EQ(written.look(6, Verdict::pass, {}, at(5)), Verdict::pass);
}

TEST(WrittenVerdict, is_kept_by_an_agent_that_has_not_looked_yet) {
  const WrittenVerdict remembered{Verdict::evict, {{"a", at(1), false}}};
  EXPECT_EQ(next_written(remembered, {.verdict = Verdict::none, .incidents = {}, .now = at(2)}).word,
            Verdict::evict);
}

TEST(WrittenVerdict, is_acknowledged_by_who_takes_the_label_away) {
  WrittenVerdict written{Verdict::evict, {{"a", at(3), false}, {"b", std::nullopt, false}}};
  EXPECT_TRUE(see_label(written, "EVICT", "uid-1"));
  EXPECT_FALSE(see_label(written, "EVICT", "uid-1"));
  // That is what a deep test writes. It may end without a result.
  EXPECT_FALSE(see_label(written, "TESTING", "uid-1"));
  EXPECT_EQ(written.evicting.size(), 2U);
  EXPECT_TRUE(see_label(written, "", "uid-1"));
  ASSERT_EQ(written.evicting.size(), 1U);
  EXPECT_EQ(written.evicting[0].id, "b");  // still there
  EXPECT_FALSE(see_label(written, "PASS", "uid-1"));
}

TEST(WrittenVerdict, is_not_acknowledged_by_a_node_object_that_was_made_anew) {
  WrittenVerdict written{Verdict::evict, {{"a", at(3), false}}, "uid-1"};
  EXPECT_FALSE(see_label(written, "", "uid-2"));
  EXPECT_FALSE(see_label(written, "", "uid-2")) << "nor by what is told of it before the label is written";
  EXPECT_TRUE(see_label(written, "EVICT", "uid-2"));
  EXPECT_EQ(written.evicting.size(), 1U);
  EXPECT_TRUE(see_label(written, "", "uid-2")) << "now somebody took it away";
  EXPECT_TRUE(written.evicting.empty());
}

TEST(WrittenVerdict, a_clock_that_was_ahead_neither_ends_it_nor_keeps_it) {
  Written written;
  written.look(1, Verdict::evict, {evicting("a")});
  EXPECT_EQ(written.look(2, Verdict::pass, {}, at(500)), Verdict::evict) << "a test of the future";
  written.look(900, Verdict::evict, {evicting("a")});
  EXPECT_EQ(written.look(901, Verdict::pass, {}), Verdict::evict);
  EXPECT_EQ(written.look(10, Verdict::pass, {}, at(5)), Verdict::evict);
  EXPECT_EQ(written.look(20, Verdict::pass, {}, at(15)), Verdict::pass)
      << "after it closed, by the clock of now";
}

TEST(WrittenVerdict, an_injected_incident_holds_nothing) {
  Written written;
  Incident injected = evicting("a");
  injected.injected = true;
  EXPECT_EQ(written.look(1, Verdict::pass, {injected}), Verdict::pass);
}

TEST(WrittenVerdict, survives_as_a_line_of_text) {
  const WrittenVerdict full{Verdict::evict,
                            {{"0a1b2c3d-7", std::nullopt, false}, {"0a1b2c3d-8", at(5), true}}};
  EXPECT_EQ(parse_written_verdict(to_text(full)), full);
  EXPECT_EQ(parse_written_verdict(to_text(WrittenVerdict{})), WrittenVerdict{});
  const WrittenVerdict seen{Verdict::evict, {{"0a1b2c3d-7", at(5), false}}, "6f1c8e2a-0000"};
  EXPECT_EQ(parse_written_verdict(to_text(seen)), seen);
  WrittenVerdict many{Verdict::evict, {}};
  for (int i = 0; i < 100; ++i)
    many.evicting.push_back({"0a1b2c3d-" + std::to_string(i), std::nullopt, false});
  EXPECT_EQ(parse_written_verdict(to_text(many)).value().evicting.size(), kMaxEvictingKept);
}

TEST(WrittenVerdict, is_not_guessed_from_a_damaged_line) {
  const std::string whole = to_text({Verdict::evict, {{"0a1b2c3d-7", at(5), false}}});
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    EXPECT_EQ(parse_written_verdict(cut).has_value(), cut == "w1 EVICT") << cut;
  }
  for (const char* text :
       {"w2 EVICT", "w1 MAYBE", "w1 EVICT ,-,0", "w1 EVICT a,b,0", "w1 EVICT a,-,2", "w1  "})
    EXPECT_FALSE(parse_written_verdict(text)) << text;
}

TEST(WrittenVerdict, says_why_it_stays_and_what_ends_it) {
  constexpr const char* label = "autopilot.ibm.com/gpuhealth";
  EXPECT_EQ(why_it_stays({}, "gpu-7", label), "");
  const std::vector<EvictingIncident> guess{{std::string(kPredecessor), WallTime{}, false}};
  EXPECT_EQ(why_it_stays(guess, "gpu-7", label),
            "the node had EVICT before this agent started, for an unknown reason; to end it, pass a deep "
            "diagnostic, "
            "or remove the label: kubectl label node gpu-7 autopilot.ibm.com/gpuhealth-");
  std::vector<EvictingIncident> both{{"i-1", WallTime{}, false}, {"i-2", std::nullopt, false}};
  EXPECT_THAT(why_it_stays(both, "gpu-7", label), ::testing::HasSubstr("autopilot ack i-2"));
  both.pop_back();
  EXPECT_THAT(why_it_stays(both, "gpu-7", label),
              ::testing::StartsWith("EVICT remains after incident i-1; "));
}

}  // namespace

}  // namespace autopilot::incidents
