// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/holds.hpp"

#include "tests/support/controller/planner_fixture.hpp"

namespace autopilot::controller {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Holds : public Planner {};

TEST_F(Holds, a_healthy_cluster_is_left_alone) {
  add_nodes(20);
  add_pod("train-0", "n1", "train");
  EXPECT_THAT(look().decisions, IsEmpty());
  EXPECT_EQ(look().cost.nodes, 0U);
}

TEST_F(Holds, a_picture_that_is_not_complete_or_old_leads_to_nothing) {
  add_nodes(4);
  fail_preflight("train-0", "n1", "train");
  world_.is_complete = false;
  EXPECT_THAT(look().decisions, IsEmpty());
  EXPECT_THAT(look().brake, HasSubstr("not every kind of object"));
  world_.is_complete = true;
  world_.as_of = now_;
  const Plan old = plan(world_, policy_, now_ + policy_.rules.stale_after + 1s);
  EXPECT_THAT(old.decisions, IsEmpty());
  EXPECT_THAT(old.brake, HasSubstr("older than 15m"));
}

TEST_F(Holds, an_evict_node_is_held_only_in_mode_act) {
  add_nodes(4);
  turn_bad("n1");
  policy_.rules.mode = Mode::hold;
  const Plan held = look();
  EXPECT_THAT(steps_of(held), ElementsAre("[cordon n1]"));
  EXPECT_EQ(held.decisions[0].entry->phase, Phase::recorded);
  policy_.rules.mode = Mode::act;
  EXPECT_THAT(steps_of(look()), ElementsAre("cordon n1"));
}

TEST_F(Holds, in_mode_observe_the_same_is_recorded_once_and_nothing_done) {
  policy_.rules.mode = Mode::observe;
  add_nodes(8);
  turn_bad("n1");
  add_pod("a-0", "n1", "a");
  fail_preflight("b-0", "n5", "b");
  const Plan made = step();
  EXPECT_THAT(steps_of(made), ElementsAre("[cordon n5]", "[evict_pod b-0]"));
  EXPECT_THAT(events_of(made),
              Contains(HasSubstr("WouldHoldNode Node/n5: mode observe changes nothing here; in mode act: "
                                 "held by plan")));
  EXPECT_THAT(events_of(made), Contains(HasSubstr("WouldMovePod Job/b: ")));
  for (const char* done : {"NodeHeld", "PodMoved", "NodeNotHeld"})
    EXPECT_THAT(events_of(made), Not(Contains(::testing::StartsWith(done))));
  EXPECT_THAT(entry_of("n5").budget, ::testing::StartsWith("in mode act: "));
  EXPECT_EQ(entry_of("n5").phase, Phase::recorded);
  EXPECT_EQ(phase_of("n5-b-0"), ReportPhase::planned);
  EXPECT_FALSE(node("n5").is_unschedulable);
  EXPECT_NE(world_.pod("uid-b-0"), nullptr);
  // The budget of one node counts what is recorded.
  EXPECT_EQ(entry_of("n1").phase, Phase::recorded);
  EXPECT_THAT(entry_of("n1").message, HasSubstr("not held: 1 of 1 allowed nodes of pool default"));
  EXPECT_THAT(look().decisions, IsEmpty());
}

TEST_F(Holds, what_was_recorded_is_done_when_the_mode_says_so_and_it_is_still_so) {
  policy_.rules.mode = Mode::observe;
  add_nodes(4);
  turn_bad("n1");
  settle();
  policy_.rules.mode = Mode::act;
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
}

TEST_F(Holds, nothing_is_done_about_a_node_of_which_nobody_tells) {
  add_nodes(12);
  for (const char* name : {"n1", "n5", "n9"})
    turn_bad(name, std::string("cause-of-") + name);
  change("n1", [](Node& node) { node.is_unknown = true; });
  change("n5", [](Node& node) { node.looked.reset(); });
  now_ += policy_.rules.stale_after + 1s;
  world_.note_report("n1", now_);
  const Plan made = step();
  EXPECT_THAT(steps_of(made), IsEmpty());
  EXPECT_EQ(entry_of("n1").brake, "unknown");
  EXPECT_EQ(entry_of("n5").brake, "unknown");
  EXPECT_EQ(entry_of("n9").brake, "stale");
  world_.note_report("n9", now_);
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n9"));
}

TEST_F(Holds, what_was_seen_a_moment_ago_is_acted_on_when_it_has_stood_for_a_while) {
  add_nodes(20);
  turn_bad("n1");
  change("n1", [&](Node& node) { node.causes.front().since = now_ - 10s; });
  const Plan made = step();
  EXPECT_THAT(steps_of(made), IsEmpty());
  EXPECT_EQ(entry_of("n1").brake, "settling");
  EXPECT_EQ(made.next, now_ + 50s);
  later(50s);
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
}

TEST_F(Holds, of_many_nodes_that_are_told_bad_one_after_the_other_the_first_is_not_held) {
  add_nodes(20);
  for (const char* name : {"n1", "n2", "n3"}) {
    turn_bad(name);
    change(name, [&](Node& node) { node.causes.front().since = now_; });
    EXPECT_THAT(steps_of(step()), IsEmpty());
    later(10s);
  }
  later(1h);
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_EQ(entry_of("n1").brake, "breaker");
}

TEST_F(Holds, what_a_test_has_shown_needs_no_time) {
  add_nodes(20);
  turn_bad("n1");
  change("n1", [&](Node& node) {
    node.causes.front().since = now_;
    node.causes.front().is_passive = false;
  });
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
}

TEST_F(Holds, what_is_told_of_a_time_to_come_may_be_as_old_as_any) {
  add_nodes(12);
  turn_bad("n1");
  change("n1", [&](Node& node) { node.looked = now_ + policy_.rules.stale_after + 1s; });
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_EQ(entry_of("n1").brake, "stale");
  EXPECT_THAT(entry_of("n1").message, HasSubstr("a time in the future"));
  // A clock that is slightly fast does not matter.
  change("n1", [&](Node& node) { node.looked = now_ + 1min; });
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
}

TEST_F(Holds, unknown_holds_no_node_but_a_proven_pod_is_moved) {
  policy_.rules.mode = Mode::hold;
  add_nodes(4);
  change("n1", [](Node& node) { node.verdict.reset(); });
  fail_preflight("train-0", "n1", "train");
  EXPECT_THAT(steps_of(step()), ElementsAre("evict_pod train-0"));
  EXPECT_EQ(entry_of("n1").brake, "unknown");
}

TEST_F(Holds, a_verdict_without_an_open_cause_is_no_reason) {
  add_nodes(4);
  change("n1", [](Node& node) { node.verdict = Verdict::evict; });
  EXPECT_THAT(look().decisions, IsEmpty());
}

TEST_F(Holds, a_node_that_somebody_else_cordoned_is_not_touched) {
  add_nodes(4);
  change("n1", [](Node& node) { node.is_unschedulable = true; });
  fail_preflight("train-0", "n1", "train");
  EXPECT_THAT(steps_of(step()), ElementsAre("evict_pod train-0"));
  EXPECT_EQ(entry_of("n1").brake, "others_cordon");
  settle();
  pass("n1", kDeepTest);
  later(2h);
  settle();
  EXPECT_TRUE(node("n1").is_unschedulable);
  EXPECT_EQ(entry_of("n1").phase, Phase::over);
}

TEST_F(Holds, a_cordon_whose_annotation_names_no_plan_of_ours_is_not_touched) {
  add_nodes(4);
  change("n1", [&](Node& node) {
    node.is_unschedulable = true;
    node.held = Hold{.plan = "somebody's", .since = now_};
    node.passed[std::string(kDeepTest)] = now_;
  });
  EXPECT_THAT(look().decisions, IsEmpty());
}

TEST_F(Holds, a_node_that_was_uncordoned_by_hand_is_not_held_again_for_the_same) {
  add_nodes(4);
  turn_bad("n1");
  settle();
  change("n1", [](Node& node) { node.is_unschedulable = false; });
  EXPECT_THAT(steps_of(step()), ElementsAre("release n1"));
  EXPECT_FALSE(node("n1").held.has_value());
  settle();
  EXPECT_EQ(entry_of("n1").phase, Phase::over);
  EXPECT_EQ(entry_of("n1").message, "given back by hand");
  later(1h);
  EXPECT_THAT(look().decisions, IsEmpty());
  turn_bad("n1", "something_else");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
}

TEST_F(Holds, a_node_that_was_uncordoned_by_hand_takes_pods_of_others_again) {
  policy_.rules.mode = Mode::hold;
  add_nodes(2);
  fail_preflight("a-0", "n1", "a");
  settle();
  change("n1", [](Node& node) { node.is_unschedulable = false; });
  settle();
  ASSERT_EQ(phase_of("n1-a-0"), ReportPhase::undone);
  fail_preflight("b-0", "n2", "b");
  EXPECT_THAT(steps_of(step()), Contains("evict_pod b-0"));
}

TEST_F(Holds, who_dies_while_he_gives_up_a_node_that_was_uncordoned_by_hand_does_not_hold_it_again) {
  add_nodes(4);
  turn_bad("n1");
  const LedgerEntry begun = *look().decisions.at(0).entry;
  settle();
  world_.put(begun);  // the note about the cordon is lost
  change("n1", [](Node& node) { node.is_unschedulable = false; });
  const Decision decision = look().decisions.at(0);
  // A plan that ends is written after its steps, every other plan before them.
  EXPECT_NE(decision.entry->phase, Phase::over);
  world_.put(*decision.entry);
  EXPECT_THAT(steps_of(look()), ElementsAre("release n1"));
  change("n1", [](Node& node) { node.held.reset(); });
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_TRUE(has_done(entry_of("n1"), ActionKind::cordon, "n1")) << "it counts in the rate";
  EXPECT_THAT(steps_of(step()), IsEmpty());
}

TEST_F(Holds, an_annotation_that_was_taken_away_by_hand_makes_the_cordon_theirs) {
  add_nodes(4);
  turn_bad("n1");
  settle();
  change("n1", [](Node& node) { node.held.reset(); });
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_EQ(entry_of("n1").phase, Phase::over);
  EXPECT_TRUE(entry_of("n1").is_released);
  turn_good("n1");
  pass("n1", kDeepTest);
  settle();
  EXPECT_TRUE(node("n1").is_unschedulable);
}

TEST_F(Holds, a_cordon_that_was_lost_is_sent_again) {
  add_nodes(4);
  turn_bad("n1");
  world_.put(*look().decisions.at(0).entry);
  EXPECT_THAT(steps_of(look()), ElementsAre("cordon n1"));
}

TEST_F(Holds, a_plan_that_was_begun_and_is_not_wanted_any_more_is_dropped) {
  add_nodes(4);
  turn_bad("n1");
  world_.put(*look().decisions.at(0).entry);
  turn_good("n1");
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_EQ(entry_of("n1").phase, Phase::over);
  EXPECT_EQ(entry_of("n1").message, "no evidence against the node is left");
}

TEST_F(Holds, whoever_leads_next_goes_on_with_the_plan) {
  add_nodes(4);
  fail_preflight("train-0", "n1", "train");
  const Decision decision = look().decisions.at(0);
  for (std::size_t done = 0; done <= decision.actions.size(); ++done) {
    World world = world_;
    world.as_of = now_;
    world.put(*decision.entry);
    for (std::size_t i = 0; i < done; ++i)
      apply(world, decision.actions[i], now_);
    for (int i = 0; i < 5; ++i)
      for (const Decision& next : plan(world, policy_, now_ + 1min).decisions)
        apply(world, next, now_ + 1min);
    EXPECT_EQ(world.node("n1")->held->plan, decision.entry->name) << done;
    EXPECT_EQ(world.pod("uid-train-0"), nullptr) << done;
    EXPECT_EQ(world.report("n1-train-0")->phase, ReportPhase::acted) << done;
    EXPECT_EQ(world.entry(decision.entry->name)->phase, Phase::held) << done;
    EXPECT_EQ(world.plans_on("n1").size(), 1U) << done;
  }
}

TEST_F(Holds, the_same_world_gives_the_same_plan) {
  add_nodes(8);
  turn_bad("n1");
  fail_preflight("train-0", "n5", "train");
  const Plan one = look();
  const Plan other = look();
  ASSERT_EQ(one.decisions.size(), other.decisions.size());
  for (std::size_t i = 0; i < one.decisions.size(); ++i) {
    EXPECT_EQ(one.decisions[i].entry, other.decisions[i].entry);
    EXPECT_EQ(one.decisions[i].actions, other.decisions[i].actions);
  }
}

TEST_F(Holds, a_plan_whose_node_is_gone_is_over) {
  add_nodes(4);
  turn_bad("n1");
  settle();
  const std::string name = entry_of("n1").name;
  world_.remove_node("n1");
  settle();
  EXPECT_EQ(world_.entry(name)->phase, Phase::over);
  EXPECT_EQ(world_.entry(name)->message, "the node is gone");
}

TEST_F(Holds, a_node_that_was_made_anew_is_another_one) {
  add_nodes(4);
  turn_bad("n1");
  settle();
  const std::string name = entry_of("n1").name;
  change("n1", [](Node& node) {
    node.uid = "uid-new";
    node.held.reset();
    node.is_unschedulable = false;
    node.verdict = Verdict::pass;
    node.causes.clear();
  });
  settle();
  EXPECT_EQ(world_.entry(name)->phase, Phase::over);
  EXPECT_FALSE(node("n1").is_unschedulable);
}

TEST_F(Holds, a_hold_whose_plan_says_that_it_is_over_is_taken_up_again) {
  add_nodes(4);
  turn_bad("n1");
  settle();
  LedgerEntry entry = entry_of("n1");
  entry.phase = Phase::over;
  world_.put(entry);
  settle();
  EXPECT_EQ(entry_of("n1").phase, Phase::held);
  EXPECT_TRUE(entry_of("n1").holds);
}

TEST_F(Holds, a_node_has_one_plan) {
  add_nodes(4);
  turn_bad("n1");
  settle();
  LedgerEntry other = entry_of("n1");
  other.name = "n1-other";
  other.phase = Phase::waiting;
  world_.put(other);
  settle();
  EXPECT_EQ(world_.entry("n1-other")->phase, Phase::over);
  EXPECT_EQ(world_.entry(node("n1").held->plan)->phase, Phase::held);
}

TEST_F(Holds, in_mode_observe_what_is_held_stays_so) {
  add_nodes(4);
  turn_bad("n1");
  settle();
  policy_.rules.mode = Mode::observe;
  turn_good("n1");
  later(1min);
  pass("n1", kDeepTest);
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_THAT(entry_of("n1").message, HasSubstr("in mode observe it is not given back"));
  EXPECT_TRUE(node("n1").is_unschedulable);
  policy_.rules.mode = Mode::hold;
  EXPECT_THAT(steps_of(step()), Contains("uncordon n1"));
}

TEST_F(Holds, a_node_whose_label_says_so_is_never_held_and_a_hold_of_before_goes_on) {
  policy_.rules.mode = Mode::act;
  add_nodes(8);
  change("n1", [](Node& node) { node.is_exempt = true; });
  turn_bad("n1");
  add_pod("a-0", "n1", "a");
  fail_preflight("b-0", "n1", "b");
  EXPECT_THAT(steps_of(step()), ElementsAre("evict_pod b-0")) << "the gate of a pod is no hold of the node";
  EXPECT_EQ(entry_of("n1").brake, "exempt");
  EXPECT_THAT(entry_of("n1").message, HasSubstr("the label hold=disabled of node n1 excludes it from holds"));
  turn_bad("n5");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n5"));
  settle();
  change("n5", [](Node& node) { node.is_exempt = true; });
  step();
  EXPECT_EQ(entry_of("n5").phase, Phase::held);
}

TEST_F(Holds, the_label_of_a_held_node_goes_when_the_cordon_is_made_somebody_elses) {
  policy_.rules.mode = Mode::hold;
  add_nodes(8);
  fail_preflight("a-0", "n1", "a");
  step();
  settle();
  change("n1", [](Node& node) {
    node.held.reset();
    node.has_held_label = true;
  });
  EXPECT_THAT(steps_of(look()), ElementsAre("release n1"));
}

TEST_F(Holds, what_waits_names_the_pool_that_its_node_is_in_now) {
  policy_.rules.mode = Mode::hold;
  add_nodes(8);
  fail_preflight("a-0", "n1", "a");
  step();
  fail_preflight("b-0", "n2", "b");
  step();
  EXPECT_THAT(entry_of("n2").message, HasSubstr("1 of 1 allowed nodes of pool default"));
  policy_.pools.push_back({.name = "default-2", .selector = {}, .rules = policy_.rules});
  for (const char* name : {"n1", "n2"})
    change(name, [](Node& node) { node.pool = "default-2"; });
  step();
  EXPECT_THAT(entry_of("n2").message, HasSubstr("1 of 1 allowed nodes of pool default-2"));
  for (const char* name : {"n1", "n2"})
    change(name, [](Node& node) { node.pool = "default"; });
  step();
  EXPECT_THAT(entry_of("n2").message, HasSubstr("1 of 1 allowed nodes of pool default are"));
}

TEST_F(Holds, each_pool_has_its_own_mode) {
  policy_.pools.push_back({.name = "quiet", .selector = {}, .rules = {}});
  add_nodes(8);
  change("n5", [](Node& node) { node.pool = "quiet"; });
  turn_bad("n1");
  turn_bad("n5");
  EXPECT_THAT(steps_of(look()), testing::UnorderedElementsAre("cordon n1", "[cordon n5]"));
}

}  // namespace
}  // namespace autopilot::controller
