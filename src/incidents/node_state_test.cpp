// SPDX-License-Identifier: Apache-2.0
#include "incidents/node_state.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/incidents/node_state_fixture.hpp"

namespace autopilot::incidents {
namespace {

using catalog::ClearRule;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::answers;
using testing::at;
using testing::finding;
using testing::gpu;

const Subject kOnlyGpu = gpu("0000:3b:00.0", "S1");
const Acknowledgement kSeen{"alice (uid 1000)", at(hours{2}).wall, "the card is ordered"};

class NodeStateTest : public ::testing::Test {
 protected:
  NodeStateTest() {
    reasons_.add("hot", ClearRule::healthy_rounds);
    reasons_.add("remap", ClearRule::gpu_reset);
    reasons_.add("wedged", ClearRule::reboot);
    reasons_.add("event", ClearRule::expiry).clear_after = hours{1};
    reasons_.add("odd", ClearRule::acknowledged);
    reasons_.add("broken", ClearRule::replaced);
  }

  Changes round(const Findings& findings, const Observations& observations) {
    now_ += seconds{30};
    return state_.complete_round("gpu.x", at(now_), findings, observations);
  }
  Changes round(const Findings& findings) { return round(findings, answers({kOnlyGpu})); }
  // A round in which nobody could look.
  Changes blind() { return round({finding(host_subject(), "timed_out", Health::unknown)}, {}); }

  void restart(std::string_view boot) {
    const auto saved = state_.save();
    state_ = NodeState(reasons_.lookup(), causes_, std::string(boot));
    now_ += minutes{5};
    state_.restore(saved, at(now_));
  }
  [[nodiscard]] const Finding* find(std::string_view reason) {
    findings_ = state_.findings("gpu.x");
    const auto found = std::ranges::find(findings_, reason, &Finding::reason);
    return found == findings_.end() ? nullptr : &*found;
  }
  // Closed in these changes by that word.
  static std::string closed_by(const Changes& changes) {
    for (const auto& incident : changes.incidents)
      if (incident.state == IncidentState::closed) return incident.closed_by;
    return {};
  }

  testing::Reasons reasons_;
  const std::vector<catalog::Cause> causes_;
  NodeState state_{reasons_.lookup(), causes_, std::string(testing::kBoot)};
  Duration now_{0};
  Findings findings_;
};

TEST_F(NodeStateTest, a_finding_opens_one_incident_with_the_facts_of_the_catalog) {
  auto& reason = reasons_.add("hot", ClearRule::healthy_rounds);
  reason.confidence = 0.9;
  reason.action = Action::check_mechanicals;
  const auto changes = round({finding(kOnlyGpu, "hot")});
  ASSERT_EQ(changes.transitions.size(), 1U);
  EXPECT_EQ(changes.transitions[0].kind, TransitionKind::raised);
  ASSERT_EQ(changes.incidents.size(), 1U);
  const auto& incident = changes.incidents[0];
  EXPECT_EQ(incident.id, "0123abcd-1");
  EXPECT_EQ(incident.state, IncidentState::open);
  EXPECT_EQ(incident.blamed, kOnlyGpu);
  EXPECT_EQ(incident.confidence, 0.9);
  EXPECT_EQ(incident.action, Action::check_mechanicals);
  EXPECT_EQ(incident.opened, at(now_).wall);
  ASSERT_EQ(state_.findings("gpu.x").size(), 1U);
  EXPECT_EQ(state_.findings("gpu.x")[0].since, at(now_).wall);
  EXPECT_TRUE(round({finding(kOnlyGpu, "hot")}).empty()) << "the same again is no news";
}

TEST_F(NodeStateTest, counts_only_after_its_rounds_in_a_row_and_remembers_when_it_began) {
  reasons_.add("hot", ClearRule::healthy_rounds).raise_rounds = 3;
  round({finding(kOnlyGpu, "hot")});
  const auto began = at(now_).wall;
  round({finding(kOnlyGpu, "hot")});
  EXPECT_TRUE(state_.findings("gpu.x").empty());
  EXPECT_EQ(round({finding(kOnlyGpu, "hot")}).incidents.size(), 1U);
  EXPECT_EQ(state_.findings("gpu.x")[0].since, began);
}

TEST_F(NodeStateTest, a_healthy_round_starts_the_count_anew_and_a_blind_one_does_not) {
  reasons_.add("hot", ClearRule::healthy_rounds).raise_rounds = 2;
  round({finding(kOnlyGpu, "hot")});
  round({});
  EXPECT_TRUE(round({finding(kOnlyGpu, "hot")}).empty());
  blind();
  EXPECT_EQ(find("hot"), nullptr);
  EXPECT_EQ(round({finding(kOnlyGpu, "hot")}).incidents.size(), 1U);
}

TEST_F(NodeStateTest, getting_worse_needs_as_many_rounds_and_getting_better_none) {
  reasons_.add("hot", ClearRule::healthy_rounds).raise_rounds = 2;
  round({finding(kOnlyGpu, "hot", Health::degraded)});
  round({finding(kOnlyGpu, "hot", Health::degraded)});
  EXPECT_TRUE(round({finding(kOnlyGpu, "hot", Health::failed)}).empty());
  EXPECT_EQ(find("hot")->health, Health::degraded);
  const auto worse = round({finding(kOnlyGpu, "hot", Health::failed)});
  ASSERT_EQ(worse.transitions.size(), 1U);
  EXPECT_EQ(worse.transitions[0].kind, TransitionKind::changed);
  EXPECT_EQ(worse.incidents[0].health, Health::failed);
  round({finding(kOnlyGpu, "hot", Health::degraded)});
  EXPECT_EQ(find("hot")->health, Health::degraded);
}

TEST_F(NodeStateTest, a_sticky_reason_keeps_its_worst_health) {
  round({finding(kOnlyGpu, "remap", Health::failed)});
  EXPECT_TRUE(round({finding(kOnlyGpu, "remap", Health::degraded)}).empty());
  EXPECT_EQ(find("remap")->health, Health::failed);
}

TEST_F(NodeStateTest, the_catalog_caps_the_health) {
  reasons_.add("guess", ClearRule::healthy_rounds).max_health = Health::degraded;
  round(
      {finding(kOnlyGpu, "guess", Health::failed), finding(kOnlyGpu, "not_in_the_catalog", Health::failed)});
  EXPECT_EQ(find("guess")->health, Health::degraded);
  EXPECT_EQ(find("not_in_the_catalog")->health, Health::degraded);
}

TEST_F(NodeStateTest, unknown_is_shown_as_long_as_it_lasts_and_never_an_incident) {
  const auto first = blind();
  ASSERT_EQ(first.transitions.size(), 1U);
  EXPECT_EQ(first.transitions[0].kind, TransitionKind::raised);
  const auto since = at(now_).wall;
  EXPECT_TRUE(blind().empty());
  EXPECT_EQ(find("timed_out")->since, since);
  EXPECT_TRUE(state_.incidents().empty());
  EXPECT_EQ(round({}).transitions.at(0).kind, TransitionKind::cleared);
  EXPECT_TRUE(state_.findings("gpu.x").empty());
}

TEST_F(NodeStateTest, unsupported_passes_without_a_story) {
  EXPECT_TRUE(round({finding(host_subject(), "no_gpu", Health::unsupported)}, {}).empty());
  EXPECT_EQ(find("no_gpu")->health, Health::unsupported);
}

TEST_F(NodeStateTest, healthy_rounds_clears_after_rounds_and_time) {
  auto& reason = reasons_.add("hot", ClearRule::healthy_rounds);
  reason.clear_rounds = 2;
  reason.clear_after = seconds{100};
  round({finding(kOnlyGpu, "hot")});
  const auto gone = round({});
  EXPECT_EQ(gone.incidents.at(0).state, IncidentState::recovering);
  EXPECT_TRUE(find("hot")->held);
  EXPECT_TRUE(round({}).empty());
  EXPECT_TRUE(round({}).empty());
  const auto cleared = round({});
  EXPECT_EQ(closed_by(cleared), "healthy_rounds");
  EXPECT_EQ(cleared.transitions.at(0).rule, ClearRule::healthy_rounds);
  EXPECT_EQ(find("hot"), nullptr);
  EXPECT_TRUE(state_.incidents().empty());
}

TEST_F(NodeStateTest, a_blind_round_counts_for_nothing) {
  round({finding(kOnlyGpu, "hot")});
  blind();
  EXPECT_FALSE(find("hot")->held);
  round({});
  blind();
  blind();
  EXPECT_TRUE(find("hot")->held);
  EXPECT_EQ(closed_by(round({})), "healthy_rounds");
}

TEST_F(NodeStateTest, unknown_about_one_gpu_holds_only_what_concerns_it) {
  const Subject other = gpu("0000:5e:00.0", "S2");
  Subject link;
  link.kind = SubjectKind::nvlink;
  link.key = kOnlyGpu.key + "/3";
  const auto all = answers({kOnlyGpu, other, link});
  round({finding(kOnlyGpu, "hot"), finding(other, "hot"), finding(link, "hot")}, all);
  for (int i = 0; i < 2; ++i)
    round({finding(kOnlyGpu, "timed_out", Health::unknown)}, all);
  const auto left = state_.findings("gpu.x");
  ASSERT_EQ(left.size(), 3U);
  EXPECT_EQ(left[0].subject, kOnlyGpu);
  EXPECT_EQ(left[2].subject, link);
}

TEST_F(NodeStateTest, unknown_about_a_part_holds_what_that_part_would_tell_and_nothing_else) {
  reasons_.add("counters_untold", ClearRule::healthy_rounds).hides = {"errors"};
  reasons_.add("errors", ClearRule::healthy_rounds);
  round({finding(kOnlyGpu, "hot"), finding(kOnlyGpu, "errors")});
  for (int i = 0; i < 4; ++i)
    round({finding(kOnlyGpu, "counters_untold", Health::unknown)});
  EXPECT_EQ(find("hot"), nullptr);
  ASSERT_NE(find("errors"), nullptr);
  for (int i = 0; i < 2; ++i)
    round({});
  EXPECT_EQ(find("errors"), nullptr);
}

TEST_F(NodeStateTest, a_gpu_that_fell_silent_is_not_healthy) {
  round({finding(kOnlyGpu, "hot")});
  for (int i = 0; i < 5; ++i)
    round({}, answers({gpu("0000:5e:00.0", "S2")}));
  ASSERT_NE(find("hot"), nullptr);
  auto silent = answers({kOnlyGpu});
  silent[0].value.reset();
  for (int i = 0; i < 5; ++i)
    round({}, silent);
  EXPECT_NE(find("hot"), nullptr);
}

TEST_F(NodeStateTest, a_mount_that_is_gone_is_not_held) {
  Subject mount;
  mount.kind = SubjectKind::mount;
  mount.key = "/data";
  round({finding(mount, "hot")}, answers({mount}));
  round({});
  EXPECT_EQ(closed_by(round({})), "healthy_rounds");
}

// A test between nodes tells of those that are slow; one that is not any more is not in it.
TEST_F(NodeStateTest, a_port_at_a_node_of_which_nothing_is_told_is_not_held_and_one_of_this_machine_is) {
  reasons_.add("slow", ClearRule::healthy_rounds);
  const Subject own{SubjectKind::nic_port, "net0", {}, "", ""};
  const Subject at_node = port_at("gpu-5", "net0");
  round({finding(own, "slow"), finding(at_node, "slow")}, answers({own, at_node}));
  for (int i = 0; i < 3; ++i)
    round({});
  ASSERT_NE(find("slow"), nullptr);
  EXPECT_EQ(find("slow")->subject, own);
  EXPECT_EQ(state_.findings("gpu.x").size(), 1U);
}

TEST_F(NodeStateTest, a_gpu_reset_clears_what_waits_for_it) {
  round({finding(kOnlyGpu, "remap"), finding(kOnlyGpu, "wedged")});
  for (int i = 0; i < 5; ++i)
    round({});
  EXPECT_TRUE(find("remap")->held);
  EXPECT_TRUE(state_.gpu_was_reset(gpu("0000:5e:00.0"), at(now_)).empty());
  EXPECT_EQ(closed_by(state_.gpu_was_reset(kOnlyGpu, at(now_))), "gpu_reset");
  EXPECT_EQ(find("remap"), nullptr);
  EXPECT_NE(find("wedged"), nullptr);
}

// It is said again if it was another GPU that needed the reset.
TEST_F(NodeStateTest, a_reset_of_any_gpu_clears_what_is_said_of_the_node_and_waits_for_one) {
  round({finding({}, "remap")});
  EXPECT_EQ(closed_by(round({})), "");
  state_.gpu_was_reset(kOnlyGpu, at(now_));
  round({});
  EXPECT_EQ(find("remap"), nullptr);
}

TEST_F(NodeStateTest, a_reset_counts_for_old_evidence_only) {
  auto seen = finding(kOnlyGpu, "remap");
  seen.evidence = {{"line", std::string("first")}};
  round({seen});
  state_.gpu_was_reset(kOnlyGpu, at(now_));
  round({seen});
  EXPECT_FALSE(find("remap")->held) << "still in the window of the judge";
  EXPECT_EQ(closed_by(round({})), "gpu_reset");

  round({seen});
  state_.gpu_was_reset(kOnlyGpu, at(now_));
  seen.evidence = {{"line", std::string("second, after the reset")}};
  round({seen});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(closed_by(round({})), "");
}

TEST_F(NodeStateTest, a_gpu_that_was_gone_and_is_back_was_reset) {
  round({finding(kOnlyGpu, "remap")});
  round({}, {});
  EXPECT_FALSE(find("remap")->held);
  EXPECT_EQ(closed_by(round({})), "gpu_reset");
}

TEST_F(NodeStateTest, what_one_check_sees_come_back_is_a_reset_for_all_checks) {
  const auto log_check = [&](const Findings& findings) {
    return state_.complete_round("gpu.y", at(now_), findings, {});
  };
  log_check({finding(kOnlyGpu, "remap")});
  round({});
  round({}, answers({gpu("0000:5e:00.0")}));
  log_check({});
  ASSERT_EQ(state_.findings("gpu.y").size(), 1U);
  EXPECT_TRUE(state_.findings("gpu.y")[0].held);
  EXPECT_EQ(closed_by(round({})), "gpu_reset");
  EXPECT_TRUE(state_.findings("gpu.y").empty());
}

TEST_F(NodeStateTest, a_blind_round_is_no_reset) {
  round({finding(kOnlyGpu, "remap")});
  blind();
  EXPECT_EQ(closed_by(round({})), "");
}

TEST_F(NodeStateTest, a_new_boot_clears_reset_and_reboot_at_the_first_look) {
  round({finding(kOnlyGpu, "remap"), finding(kOnlyGpu, "wedged"), finding(kOnlyGpu, "odd")});
  round({});
  restart(testing::kBoot);
  round({});
  EXPECT_NE(find("wedged"), nullptr) << "the same boot";
  restart(testing::kNextBoot);
  EXPECT_NE(find("wedged"), nullptr) << "nobody has looked yet";
  blind();
  EXPECT_NE(find("wedged"), nullptr);
  const auto changes = round({});
  EXPECT_EQ(changes.incidents.size(), 2U);
  EXPECT_EQ(find("wedged"), nullptr);
  EXPECT_EQ(find("remap"), nullptr);
  EXPECT_NE(find("odd"), nullptr);
}

TEST_F(NodeStateTest, what_is_still_there_after_a_reboot_stays_the_same_incident) {
  round({finding(kOnlyGpu, "wedged")});
  const auto id = state_.incidents().at(0).id;
  restart(testing::kNextBoot);
  round({finding(kOnlyGpu, "wedged")});
  ASSERT_EQ(state_.incidents().size(), 1U);
  EXPECT_EQ(state_.incidents()[0].id, id);
  for (int i = 0; i < 3; ++i)
    round({});
  EXPECT_NE(find("wedged"), nullptr) << "it outlived that reboot, so it needs another";
}

TEST_F(NodeStateTest, expiry_counts_from_the_last_new_evidence) {
  auto seen = finding(kOnlyGpu, "event");
  seen.evidence = {{"line", std::string("a")}};
  round({seen});
  now_ += minutes{50};
  round({seen});
  EXPECT_EQ(closed_by(round({})), "");
  now_ += minutes{10};
  blind();
  EXPECT_NE(find("event"), nullptr);
  EXPECT_EQ(closed_by(round({})), "expiry");
}

TEST_F(NodeStateTest, acknowledging_clears_where_that_is_the_rule_once_the_condition_is_gone) {
  round({finding(kOnlyGpu, "odd"), finding(kOnlyGpu, "remap")});
  const auto open = state_.incidents();
  ASSERT_EQ(open.size(), 2U);
  for (const auto& incident : open)
    ASSERT_TRUE(state_.acknowledge(incident.id, kSeen, at(now_)));
  EXPECT_EQ(state_.incidents().size(), 2U) << "both are still there";
  ASSERT_TRUE(state_.incidents()[0].acknowledged);
  EXPECT_EQ(state_.incidents()[0].acknowledged->reason, kSeen.reason);
  EXPECT_EQ(closed_by(round({})), "acknowledged");
  EXPECT_NE(find("remap"), nullptr);

  round({finding(kOnlyGpu, "odd")});
  round({});
  const auto changes = state_.acknowledge(state_.incidents().back().id, kSeen, at(now_));
  ASSERT_TRUE(changes);
  EXPECT_EQ(closed_by(*changes), "acknowledged");
  EXPECT_TRUE(changes->incidents[0].acknowledged);
  EXPECT_EQ(state_.acknowledge("0123abcd-99", kSeen, at(now_)).error().code, Errc::not_found);
}

TEST_F(NodeStateTest, another_card_in_the_slot_ends_what_was_said_of_the_old_one) {
  round({finding(kOnlyGpu, "broken"), finding(kOnlyGpu, "remap")});
  for (int i = 0; i < 5; ++i)
    round({});
  EXPECT_NE(find("broken"), nullptr);
  const auto changes = round({}, answers({gpu(kOnlyGpu.key, "S9")}));
  EXPECT_EQ(closed_by(changes), "replaced");
  EXPECT_TRUE(state_.findings("gpu.x").empty());
}

TEST_F(NodeStateTest, the_same_trouble_of_another_card_is_another_incident) {
  round({finding(kOnlyGpu, "broken")});
  const auto changes =
      round({finding(gpu(kOnlyGpu.key, "S9"), "broken")}, answers({gpu(kOnlyGpu.key, "S9")}));
  ASSERT_EQ(changes.incidents.size(), 2U);
  EXPECT_EQ(changes.incidents[0].closed_by, "replaced");
  EXPECT_EQ(changes.incidents[1].state, IncidentState::open);
  EXPECT_EQ(changes.incidents[1].blamed.serial, "S9");
}

TEST_F(NodeStateTest, a_fault_follows_its_card_to_another_slot_after_a_reboot) {
  const Subject second = gpu("0000:5e:00.0", "S2");
  round({finding(kOnlyGpu, "broken"), finding(second, "broken")}, answers({kOnlyGpu, second}));
  restart(testing::kNextBoot);
  const auto changes = round({}, answers({gpu(kOnlyGpu.key, "S2"), gpu(second.key, "S1")}));
  EXPECT_EQ(closed_by(changes), "");
  const auto left = state_.findings("gpu.x");
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].subject.key, kOnlyGpu.key);
  EXPECT_EQ(left[0].subject.serial, "S2");
  EXPECT_EQ(left[1].subject.serial, "S1");
  for (const auto& incident : state_.incidents())
    EXPECT_EQ(incident.blamed.serial, incident.blamed.key == kOnlyGpu.key ? "S2" : "S1");
}

TEST_F(NodeStateTest, a_finding_from_a_log_line_learns_its_card_from_other_checks) {
  state_.complete_round("gpu.present", at(now_), {}, answers({kOnlyGpu}));
  round({finding(gpu(kOnlyGpu.key), "broken")}, {});
  EXPECT_EQ(find("broken")->subject.serial, "S1");
  const auto changes = state_.complete_round("gpu.present", at(now_), {}, answers({gpu(kOnlyGpu.key, "S9")}));
  EXPECT_EQ(closed_by(changes), "replaced");
}

TEST_F(NodeStateTest, comes_back_while_recovering_as_the_same_incident) {
  round({finding(kOnlyGpu, "hot")});
  round({});
  const auto back = round({finding(kOnlyGpu, "hot")});
  ASSERT_EQ(back.incidents.size(), 1U);
  EXPECT_EQ(back.incidents[0].id, "0123abcd-1");
  EXPECT_EQ(back.incidents[0].state, IncidentState::open);
  round({});
  EXPECT_EQ(closed_by(round({})), "healthy_rounds");
  EXPECT_EQ(round({finding(kOnlyGpu, "hot")}).incidents.at(0).id, "0123abcd-2");
}

TEST_F(NodeStateTest, injected_findings_stand_apart_and_end_with_the_injection) {
  auto injected = finding(kOnlyGpu, "broken");
  injected.injected = true;
  round({injected, finding(kOnlyGpu, "broken")});
  ASSERT_EQ(state_.incidents().size(), 2U);
  EXPECT_EQ(closed_by(round({finding(kOnlyGpu, "broken")})), "injection_ended");
  ASSERT_EQ(state_.incidents().size(), 1U);
  EXPECT_FALSE(state_.incidents()[0].injected);
}

TEST_F(NodeStateTest, ids_go_on_after_a_restart_in_the_same_boot) {
  round({finding(kOnlyGpu, "hot")});
  round({});
  round({});
  restart(testing::kBoot);
  EXPECT_EQ(round({finding(kOnlyGpu, "hot")}).incidents.at(0).id, "0123abcd-2");
}

TEST_F(NodeStateTest, a_saved_state_that_cannot_be_read_loses_no_finding) {
  round({finding(kOnlyGpu, "broken")});
  auto saved = state_.save();
  saved.findings.at(0).state = "m9 of a later version";
  state_ = NodeState(reasons_.lookup(), causes_, std::string(testing::kBoot));
  const auto changes = state_.restore(saved, at(now_));
  EXPECT_NE(find("broken"), nullptr);
  ASSERT_EQ(state_.incidents().size(), 1U);
  EXPECT_EQ(state_.incidents()[0].id, "0123abcd-2");
  EXPECT_EQ(changes.incidents.size(), 2U) << "one opened, the one without a finding closed";
}

TEST_F(NodeStateTest, what_is_restored_late_comes_beside_what_was_found_meanwhile) {
  round({finding(kOnlyGpu, "broken"), finding(kOnlyGpu, "hot")});
  auto saved = state_.save();
  ASSERT_EQ(saved.incidents.size(), 2U);
  state_ = NodeState(reasons_.lookup(), causes_, std::string(testing::kBoot));
  state_.restore({.findings = {}, .incidents = {}, .next_incident = 100}, at(now_));
  const auto found = round({finding(kOnlyGpu, "hot")}).incidents.at(0);
  EXPECT_EQ(found.id, "0123abcd-100");

  EXPECT_TRUE(state_.restore(saved, at(now_)).empty());
  EXPECT_NE(find("broken"), nullptr);
  const auto incidents = state_.incidents();
  ASSERT_EQ(incidents.size(), 2U);
  for (const Incident& incident : incidents)
    EXPECT_EQ(incident.id, incident.reason == "hot" ? found.id : "0123abcd-1") << incident.reason;
  for (int i = 0; i < 2; ++i)
    round({finding(kOnlyGpu, "broken")});
  EXPECT_EQ(state_.incidents().size(), 1U) << "each of its own finding";
  EXPECT_TRUE(round({finding(gpu("0000:5d:00.0"), "hot")}).opened.contains("0123abcd-101"));
}

TEST_F(NodeStateTest, an_incident_of_which_half_was_found_meanwhile_ends_with_the_other_half) {
  round({finding(kOnlyGpu, "event"), finding(kOnlyGpu, "hot")});
  auto saved = state_.save();
  // As a rule of causes would have it: one incident.
  ASSERT_EQ(saved.incidents.size(), 2U);
  saved.incidents[0].members.push_back(saved.incidents[1].members[0]);
  for (SavedFinding& one : saved.findings)
    if (const auto place = one.state.find(saved.incidents[1].id); place != std::string::npos)
      one.state.replace(place, saved.incidents[1].id.size(), saved.incidents[0].id);
  saved.incidents.pop_back();
  state_ = NodeState(reasons_.lookup(), causes_, std::string(testing::kBoot));
  state_.restore({.findings = {}, .incidents = {}, .next_incident = 100}, at(now_));
  const std::string present = saved.incidents[0].reason == "hot" ? "hot" : "event";
  round({finding(kOnlyGpu, present)});
  state_.restore(saved, at(now_));
  ASSERT_EQ(state_.incidents().size(), 2U);
  for (const Incident& incident : state_.incidents())
    EXPECT_EQ(incident.members.size(), 1U) << incident.id;
}

TEST_F(NodeStateTest, what_is_only_on_its_way_to_a_finding_does_not_keep_a_remembered_one_out) {
  reasons_.add("vanished", ClearRule::reboot).raise_rounds = 2;
  for (int i = 0; i < 2; ++i)
    round({finding(kOnlyGpu, "vanished")});
  const auto saved = state_.save();
  ASSERT_EQ(saved.incidents.size(), 1U);
  state_ = NodeState(reasons_.lookup(), causes_, std::string(testing::kBoot));
  round({finding(kOnlyGpu, "vanished")});
  EXPECT_TRUE(state_.incidents().empty());
  state_.restore(saved, at(now_));
  round({});
  ASSERT_EQ(state_.incidents().size(), 1U);
  EXPECT_EQ(state_.incidents()[0].id, saved.incidents[0].id);
}

TEST_F(NodeStateTest, a_removed_check_leaves_no_incident_behind) {
  round({finding(kOnlyGpu, "broken")});
  auto saved = state_.save();
  saved.findings.clear();
  state_ = NodeState(reasons_.lookup(), causes_, std::string(testing::kBoot));
  EXPECT_EQ(closed_by(state_.restore(saved, at(now_))), "check_removed");
  EXPECT_TRUE(state_.incidents().empty());
}

TEST_F(NodeStateTest, too_many_findings_are_counted_not_kept) {
  Findings many;
  for (std::size_t i = 0; i < FindingTracker::kMaxFindingsPerCheck + 7; ++i)
    many.push_back(finding(gpu("slot" + std::to_string(i)), "hot"));
  round(many);
  EXPECT_EQ(state_.findings("gpu.x").size(), FindingTracker::kMaxFindingsPerCheck);
  EXPECT_EQ(state_.dropped(), 7U);
}

TEST_F(NodeStateTest, the_story_names_incident_and_rule) {
  round({finding(kOnlyGpu, "hot")});
  round({});
  const auto changes = round({});
  const auto events = to_events(changes, at(now_).wall, testing::kBoot, true);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, EventKind::finding_cleared);
  EXPECT_EQ(*find_attribute(events[0].details, "clearRule"), Value{std::string("healthy_rounds")});
  EXPECT_EQ(events[1].kind, EventKind::incident_closed);
  EXPECT_EQ(*find_attribute(events[1].details, "incident"), Value{std::string("0123abcd-1")});
  EXPECT_TRUE(events[1].simulated);
  EXPECT_EQ(events[1].time, at(now_).wall);
}

}  // namespace
}  // namespace autopilot::incidents
