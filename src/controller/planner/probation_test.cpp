// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/probation.hpp"

#include "controller/planner/planner_fixture.hpp"

namespace autopilot::controller {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  EXPECT_THAT(entry_of("n1").message, HasSubstr("nobody tested it"));
}

TEST_F(OnProbation, a_node_that_is_found_bad_again_gets_a_new_plan) {
  const std::string first = entry_of("n1").name;
  later(2h);
  turn_bad("n1");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
  settle();
  EXPECT_EQ(world_.entry(first)->phase, Phase::over);
  EXPECT_THAT(world_.entry(first)->message, HasSubstr("found bad again"));
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
