// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/returns.hpp"

#include "tests/support/controller/planner_fixture.hpp"

namespace autopilot::controller {

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Returns : public Planner {
 protected:
  void hold_after_preflight() {
    add_nodes(12);
    fail_preflight("train-0", "n1", "train");
    settle();
    ASSERT_TRUE(node("n1").held.has_value());
    later(10min);
  }
  void hold_after_evict(Action action = Action::reset_gpu) {
    add_nodes(12);
    turn_bad("n1", "nvlink_fatal", action);
    settle();
    ASSERT_TRUE(node("n1").held.has_value());
    later(10min);
  }
};

TEST_F(Returns, a_node_comes_back_when_the_test_that_failed_has_passed) {
  policy_.rules.mode = Mode::hold;
  hold_after_preflight();
  EXPECT_THAT(look().decisions, IsEmpty());
  EXPECT_THAT(entry_of("n1").message,
              HasSubstr("needed: gpu.pcie_bandwidth on all its GPUs, or a deep test"));
  pass("n1", kTest);
  const Plan made = step();
  EXPECT_THAT(steps_of(made), ElementsAre("taint n1", "uncordon n1"));
  EXPECT_THAT(events_of(made), ElementsAre("NodeReturned Node/n1: node n1 has passed its test: given back"));
  settle();
  EXPECT_FALSE(node("n1").is_unschedulable);
  EXPECT_EQ(entry_of("n1").phase, Phase::probation);
  EXPECT_EQ(phase_of("n1-train-0"), ReportPhase::undone);
}

TEST_F(Returns, a_test_from_before_proves_nothing) {
  add_nodes(12);
  pass("n1", kTest);
  pass("n1", kDeepTest);
  later(1min);
  fail_preflight("train-0", "n1", "train");
  settle();
  later(1min);
  EXPECT_THAT(steps_of(look()), IsEmpty());
}

TEST_F(Returns, every_test_that_failed_has_to_pass) {
  policy_.rules.mode = Mode::hold;
  add_nodes(12);
  Report report = put_report(add_pod("train-0", "n1", "train", true));
  report.failed.push_back({.test = "gpu.memory_bandwidth", .reason = "slow", .message = {}});
  world_.put(report);
  settle();
  later(1min);
  pass("n1", kTest);
  settle();
  EXPECT_TRUE(node("n1").is_unschedulable);
  pass("n1", "gpu.memory_bandwidth");
  settle();
  EXPECT_FALSE(node("n1").is_unschedulable);
}

TEST_F(Returns, a_report_that_does_not_say_what_failed_needs_a_deep_test) {
  policy_.rules.mode = Mode::hold;
  add_nodes(12);
  Report report = put_report(add_pod("train-0", "n1", "train", true));
  report.failed.clear();
  report.message = "the probe crashed";
  world_.put(report);
  fail_preflight("train-1", "n1", "train");
  settle();
  later(1min);
  pass("n1", kTest);
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_THAT(entry_of("n1").message, testing::EndsWith("needed: a deep test"));
  pass("n1", kDeepTest);
  settle();
  EXPECT_FALSE(node("n1").is_unschedulable);
  EXPECT_EQ(entry_of("n1").phase, Phase::probation);
}

TEST_F(Returns, by_policy_only_a_deep_test_is_proof) {
  policy_.rules.mode = Mode::hold;
  policy_.rules.proof = Proof::deep_test;
  hold_after_preflight();
  pass("n1", kTest);
  settle();
  EXPECT_TRUE(node("n1").is_unschedulable);
  pass("n1", kDeepTest);
  settle();
  EXPECT_FALSE(node("n1").is_unschedulable);
}

TEST_F(Returns, without_proof_nothing_is_given_back) {
  hold_after_evict();
  turn_good("n1");
  EXPECT_THAT(steps_of(step()), testing::Not(Contains("uncordon n1")));
  pass("n1", kDeepTest);
  const Node healthy = node("n1");
  // Each of these takes the proof away.
  const auto stays = [&](auto spoil) {
    Node spoiled = healthy;
    spoil(spoiled);
    world_.put(spoiled);
    return !testing::Value(steps_of(look()), Contains("uncordon n1"));
  };
  EXPECT_TRUE(stays([](Node& node) { node.is_unknown = true; }));
  EXPECT_TRUE(stays([](Node& node) { node.verdict.reset(); }));
  EXPECT_TRUE(stays([&](Node& node) { node.looked = now_ - 16min; }));
  EXPECT_TRUE(stays([](Node& node) { node.verdict = Verdict::evict; }));
  EXPECT_TRUE(stays([](Node& node) { node.verdict = Verdict::testing; }));
  EXPECT_TRUE(stays([&](Node& node) {
    node.causes.push_back({.incident = "x", .cause = "y", .blamed = {}, .action = {}, .since = now_});
  }));
  world_.put(healthy);
  EXPECT_THAT(steps_of(look()), Contains("uncordon n1"));
}

TEST_F(Returns, what_spoke_against_the_node_later_needs_a_later_proof) {
  policy_.rules.mode = Mode::hold;
  hold_after_preflight();
  later(1min);
  fail_preflight("train-1", "n1", "train");
  pass("n1", kTest);
  change("n1", [&](Node& node) { node.passed[std::string(kTest)] = now_ - 30s; });
  settle();
  EXPECT_TRUE(node("n1").is_unschedulable);
}

TEST_F(Returns, a_held_node_is_tested_when_it_is_empty_and_again_if_that_says_nothing) {
  hold_after_preflight();
  EXPECT_THAT(entry_of("n1").done, Contains(testing::Field(&DoneStep::kind, ActionKind::deep_test)));
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_EQ(look().next, now_ + 50min);
  later(50min);
  EXPECT_THAT(steps_of(step()), ElementsAre("deep_test n1"));
}

TEST_F(Returns, a_node_with_pods_is_not_tested) {
  policy_.rules.evictions_per_hour = 1;
  add_nodes(12);
  Pod lonely = add_pod("lonely", "n1", "");
  lonely.owner.reset();
  world_.put(lonely);
  fail_preflight("train-0", "n1", "train");
  settle();
  EXPECT_THAT(steps_of(look()), IsEmpty());
  world_.remove_pod("uid-lonely");
  EXPECT_THAT(steps_of(look()), ElementsAre("deep_test n1"));
}

TEST_F(Returns, only_mode_act_has_nodes_tested_and_asks_others) {
  hold_after_evict();
  EXPECT_THAT(entry_of("n1").steps, ElementsAre("cordon n1", "request reset_gpu n1"));
  policy_.rules.mode = Mode::hold;
  turn_bad("n1", "other", Action::reboot_node);
  EXPECT_THAT(steps_of(step()), IsEmpty());
}

TEST_F(Returns, others_are_asked_once_and_for_what_the_policy_allows) {
  policy_.rules.requests = {Action::replace};
  hold_after_evict(Action::reset_gpu);
  EXPECT_THAT(steps_of(look()), IsEmpty());
  turn_bad("n1", "worse", Action::replace);
  EXPECT_THAT(steps_of(step()), ElementsAre("request n1 replace"));
  EXPECT_THAT(steps_of(step()), IsEmpty());
}

TEST_F(Returns, nobody_is_asked_while_jobs_are_on_the_node) {
  add_nodes(12);
  Pod pod = add_pod("train-0", "n1", "train");
  turn_bad("n1");
  step();
  pod.is_deleting = true;
  world_.put(pod);
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_EQ(entry_of("n1").phase, Phase::executing);
  world_.remove_pod(pod.uid);
  EXPECT_THAT(steps_of(step()), ElementsAre("request n1 reset_gpu"));
}

TEST_F(Returns, a_test_waits_until_what_was_seen_is_repaired) {
  hold_after_evict();
  EXPECT_THAT(steps_of(look()), IsEmpty());
  change("n1", [](Node& node) { node.causes.clear(); });
  // Its verdict stays EVICT until the test has passed.
  EXPECT_THAT(steps_of(step()), ElementsAre("deep_test n1"));
}

TEST_F(Returns, a_failed_deep_test_is_made_again_later) {
  hold_after_evict();
  change("n1", [](Node& node) { node.causes[0].is_passive = false; });
  EXPECT_THAT(steps_of(step()), ElementsAre("deep_test n1"));
}

TEST_F(Returns, an_undo_that_was_lost_in_the_middle_is_gone_on_with) {
  policy_.rules.mode = Mode::hold;
  hold_after_preflight();
  pass("n1", kTest);
  const Decision decision = look().decisions.at(0);
  world_.put(*decision.entry);
  apply(world_, decision.actions.at(0), now_);
  EXPECT_TRUE(node("n1").probation.has_value());
  settle();
  EXPECT_FALSE(node("n1").is_unschedulable);
  EXPECT_EQ(entry_of("n1").phase, Phase::probation);
}

TEST_F(Returns, an_undo_is_taken_back_when_something_speaks_against_the_node_again) {
  policy_.rules.mode = Mode::hold;
  hold_after_preflight();
  pass("n1", kTest);
  world_.put(*look().decisions.at(0).entry);
  ASSERT_EQ(entry_of("n1").phase, Phase::undoing);
  later(1min);
  fail_preflight("train-1", "n1", "train");
  EXPECT_THAT(steps_of(step()), ElementsAre("evict_pod train-1"));
  settle();
  EXPECT_EQ(entry_of("n1").phase, Phase::held);
}

TEST_F(Returns, without_probation_in_the_policy_the_plan_is_over) {
  policy_.rules.mode = Mode::hold;
  policy_.rules.retests.clear();
  hold_after_preflight();
  pass("n1", kTest);
  EXPECT_THAT(steps_of(step()), ElementsAre("uncordon n1"));
  settle();
  EXPECT_EQ(entry_of("n1").phase, Phase::over);
  EXPECT_EQ(phase_of("n1-train-0"), ReportPhase::undone);
}

class OnProbation : public Planner {
 protected:
  void SetUp() override {
    add_nodes(12);
    fail_preflight("train-0", "n1", "train");
    settle();
    later(1min);
    pass("n1", kDeepTest);
    settle();
    ASSERT_TRUE(node("n1").probation.has_value());
    returned_ = *entry_of("n1").returned;
  }
  WallTime returned_;
};

TEST_F(OnProbation, it_says_until_when_and_what_comes_next) {
  EXPECT_EQ(node("n1").probation->plan, entry_of("n1").name);
  EXPECT_EQ(node("n1").probation->until, returned_ + 72h);
  EXPECT_EQ(node("n1").probation->next, returned_ + 24h);
  EXPECT_FALSE(node("n1").is_unschedulable);
  EXPECT_EQ(look().next, returned_ + 24h);
}

TEST_F(OnProbation, it_is_tested_after_a_day_and_after_three_and_then_it_ends) {
  later(24h);
  EXPECT_THAT(steps_of(step()), ElementsAre("deep_test n1"));
  later(10min);
  EXPECT_THAT(steps_of(step()), IsEmpty());
  pass("n1", kDeepTest);
  EXPECT_THAT(steps_of(step()), ElementsAre("taint n1"));
  EXPECT_EQ(node("n1").probation->next, returned_ + 72h);
  later(48h);
  EXPECT_THAT(steps_of(step()), ElementsAre("deep_test n1"));
  pass("n1", kDeepTest);
  const Plan last = step();
  EXPECT_THAT(steps_of(last), ElementsAre("remove_taint n1"));
  EXPECT_THAT(events_of(last), ElementsAre(HasSubstr("ProbationEnded Node/n1")));
  EXPECT_FALSE(node("n1").probation.has_value());
  EXPECT_EQ(entry_of("n1").phase, Phase::over);
  EXPECT_THAT(look().decisions, IsEmpty());
}

TEST_F(OnProbation, in_mode_hold_a_test_that_somebody_makes_counts) {
  policy_.rules.mode = Mode::hold;
  later(25h);
  EXPECT_THAT(steps_of(step()), IsEmpty());
  later(48h);
  pass("n1", kTest);
  EXPECT_THAT(steps_of(step()), ElementsAre("remove_taint n1"));
}

TEST_F(OnProbation, nobody_waits_for_ever_for_a_test_that_is_not_made) {
  later(72h + policy_.rules.retest_patience - 1s);
  EXPECT_THAT(steps_of(step()), testing::Not(Contains("remove_taint n1")));
  later(1s);
  EXPECT_THAT(steps_of(step()), ElementsAre("remove_taint n1"));
  EXPECT_THAT(entry_of("n1").message, HasSubstr("although no test ran"));
}

TEST_F(OnProbation, a_node_that_is_found_bad_again_gets_a_new_plan) {
  const std::string first = entry_of("n1").name;
  later(2h);
  turn_bad("n1");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
  settle();
  EXPECT_EQ(world_.entry(first)->phase, Phase::over);
  EXPECT_THAT(world_.entry(first)->message, HasSubstr("failed again"));
  EXPECT_NE(node("n1").held->plan, first);
  turn_good("n1");
  later(1min);
  pass("n1", kDeepTest);
  settle();
  EXPECT_EQ(node("n1").probation->plan, entry_of("n1").name);
}

TEST_F(OnProbation, its_marks_go_when_another_plan_has_come_to_nothing) {
  policy_.rules.holds_per_hour = 1;
  later(5min);
  turn_bad("n1");
  settle();
  ASSERT_EQ(entry_of("n1").phase, Phase::waiting);
  turn_good("n1");
  settle();
  EXPECT_EQ(entry_of("n1").phase, Phase::over);
  EXPECT_FALSE(node("n1").probation.has_value());
}

TEST_F(OnProbation, whoever_takes_the_marks_away_ends_it) {
  change("n1", [](Node& node) { node.probation.reset(); });
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_EQ(entry_of("n1").phase, Phase::over);
}

TEST_F(OnProbation, marks_of_a_plan_that_nobody_knows_stay) {
  change("n2", [&](Node& node) { node.probation = Probation{.plan = "x", .until = now_, .next = now_}; });
  EXPECT_THAT(steps_of(step()), IsEmpty());
}

TEST_F(OnProbation, a_node_that_is_not_known_well_is_not_tested) {
  later(24h);
  change("n1", [](Node& node) { node.is_unknown = true; });
  EXPECT_THAT(steps_of(step()), IsEmpty());
}

TEST_F(OnProbation, in_mode_observe_its_marks_stay) {
  policy_.rules.mode = Mode::observe;
  later(100h);
  EXPECT_THAT(look().decisions, IsEmpty());
}

}  // namespace

}  // namespace autopilot::controller
