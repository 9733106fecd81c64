// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/budget.hpp"

#include "controller/planner/planner_fixture.hpp"

namespace autopilot::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Budgets : public Planner {
 protected:
  // Each by a cause of its own, so that no breaker trips.
  void turn_bad_alone(const std::string& name) { turn_bad(name, "cause-of-" + name); }
  void spread() {
    for (const auto& [name, node] : std::map(world_.nodes().begin(), world_.nodes().end()))
      change(name, [&](Node& one) { one.domain = "rack-" + name; });
  }
  int held() {
    int count = 0;
    for (const auto& [name, node] : world_.nodes())
      count += node.held ? 1 : 0;
    return count;
  }
};

TEST_F(Budgets, of_three_nodes_one_is_held) {
  add_nodes(3);
  for (const char* name : {"n1", "n2", "n3"})
    turn_bad_alone(name);
  settle();
  EXPECT_EQ(held(), 1);
}

TEST_F(Budgets, of_three_thousand_nodes_no_more_than_the_share_is) {
  add_nodes(3000);
  spread();
  policy_.rules.pool_percent = 1;
  policy_.rules.holds_per_hour = 10'000;
  policy_.rules.breaker_percent = 100;
  for (int i = 1; i <= 50; ++i)
    turn_bad_alone("n" + std::to_string(i));
  settle();
  EXPECT_EQ(held(), 30);
}

TEST_F(Budgets, a_failure_domain_keeps_its_nodes) {
  add_nodes(20);
  for (const char* name : {"n1", "n2", "n5"})
    turn_bad_alone(name);
  settle();
  // Two of twenty may be held, but one of a rack of four.
  EXPECT_EQ(held(), 2);
  EXPECT_TRUE(node("n1").held.has_value());
  EXPECT_EQ(entry_of("n2").brake, "pool_budget");
  turn_good("n5");
  later(1min);
  pass("n5", kDeepTest);
  settle();
  EXPECT_FALSE(node("n5").held.has_value());
  EXPECT_FALSE(node("n2").held.has_value());
}

TEST_F(Budgets, the_domain_is_named_where_it_is_full) {
  add_nodes(40);
  turn_bad_alone("n1");
  settle();
  turn_bad_alone("n2");
  settle();
  EXPECT_EQ(entry_of("n2").brake, "domain_budget");
  EXPECT_THAT(entry_of("n2").message, HasSubstr("1 of 1 nodes of failure domain rack-0"));
}

TEST_F(Budgets, a_node_without_a_topology_label_has_no_domain_to_keep) {
  add_nodes(40);
  for (const char* name : {"n1", "n2"}) {
    change(name, [](Node& node) { node.domain.clear(); });
    turn_bad_alone(name);
  }
  settle();
  EXPECT_EQ(held(), 2);
}

TEST_F(Budgets, one_job_cannot_take_many_nodes_with_it) {
  add_nodes(80);
  spread();
  policy_.rules.mode = Mode::hold;
  for (int i = 1; i <= 4; ++i)
    fail_preflight("a-" + std::to_string(i), "n" + std::to_string(i), "a");
  settle();
  EXPECT_EQ(held(), 1);
  EXPECT_EQ(entry_of("n2").brake, "job_budget");
  // On the word of another job it is held.
  later(1min);
  fail_preflight("b-1", "n2", "b");
  settle();
  EXPECT_EQ(held(), 2);
}

TEST_F(Budgets, a_policy_that_names_its_pools_anew_makes_no_room_for_more) {
  add_nodes(20);
  spread();
  turn_bad_alone("n1");
  turn_bad_alone("n2");
  settle();
  ASSERT_EQ(held(), 2);
  policy_.pools.push_back({.name = "all", .selector = {}, .rules = policy_.rules});
  for (int i = 1; i <= 20; ++i)
    change("n" + std::to_string(i), [](Node& node) { node.pool = "all"; });
  turn_bad_alone("n3");
  settle();
  EXPECT_EQ(held(), 2);
  EXPECT_EQ(entry_of("n3").brake, "pool_budget");
}

TEST_F(Budgets, a_pool_that_is_named_anew_keeps_its_rates) {
  policy_.rules.holds_per_hour = 1;
  add_nodes(100);
  spread();
  turn_bad_alone("n1");
  settle();
  policy_.pools.push_back({.name = "all", .selector = {}, .rules = policy_.rules});
  for (int i = 1; i <= 100; ++i)
    change("n" + std::to_string(i), [](Node& node) { node.pool = "all"; });
  turn_bad_alone("n2");
  settle();
  EXPECT_EQ(entry_of("n2").brake, "rate");
}

TEST_F(Budgets, a_domain_label_that_went_with_the_gpu_makes_no_room_there) {
  add_nodes(40);
  turn_bad_alone("n1");
  settle();
  change("n1", [](Node& node) { node.domain = "zone"; });
  turn_bad_alone("n2");
  settle();
  EXPECT_EQ(entry_of("n2").brake, "domain_budget");
}

TEST_F(Budgets, no_more_nodes_are_held_within_an_hour_than_the_rate_says) {
  add_nodes(100);
  spread();
  policy_.rules.holds_per_hour = 2;
  for (const char* name : {"n1", "n2", "n3"})
    turn_bad_alone(name);
  const Plan made = step();
  EXPECT_EQ(held(), 2);
  EXPECT_EQ(entry_of("n3").brake, "rate");
  EXPECT_EQ(made.next, now_ + 1h);
  later(59min);
  settle();
  EXPECT_EQ(held(), 2);
  later(1min);
  settle();
  EXPECT_EQ(held(), 3);
}

TEST_F(Budgets, what_was_given_back_within_the_hour_counts_against_the_rate) {
  add_nodes(100);
  spread();
  policy_.rules.holds_per_hour = 1;
  turn_bad_alone("n1");
  settle();
  turn_good("n1");
  later(1min);
  pass("n1", kDeepTest);
  settle();
  EXPECT_EQ(held(), 0);
  turn_bad_alone("n2");
  settle();
  EXPECT_EQ(held(), 0);
}

TEST_F(Budgets, a_cordon_of_which_nobody_took_note_counts_against_the_rate) {
  add_nodes(100);
  spread();
  policy_.rules.holds_per_hour = 1;
  turn_bad_alone("n1");
  world_.put(*look().decisions.at(0).entry);
  // It was done, and an operator made it his before anybody looked.
  change("n1", [](Node& node) { node.is_unschedulable = true; });
  settle();
  EXPECT_EQ(entry_of("n1").brake, "others_cordon");
  turn_bad_alone("n2");
  settle();
  EXPECT_EQ(entry_of("n2").brake, "rate");
  later(1h);
  settle();
  EXPECT_TRUE(node("n2").is_unschedulable);
}

TEST_F(Budgets, proof_comes_before_what_was_only_seen_and_the_older_before_the_newer) {
  add_nodes(12);
  turn_bad_alone("n1");
  later(1min);
  fail_preflight("train-0", "n9", "train");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n9", "evict_pod train-0"));
  later(1min);
  turn_bad_alone("n2");
  later(1min);
  turn_bad_alone("n5");
  turn_good("n9");
  pass("n9", kDeepTest);
  settle();
  settle();
  EXPECT_TRUE(node("n1").held.has_value());
  EXPECT_FALSE(node("n2").held.has_value());
  EXPECT_FALSE(node("n5").held.has_value());
}

TEST_F(Budgets, a_waiting_plan_holds_its_node_when_there_is_room) {
  add_nodes(3);
  turn_bad_alone("n1");
  settle();
  turn_bad_alone("n2");
  settle();
  EXPECT_EQ(entry_of("n2").phase, Phase::waiting);
  EXPECT_THAT(look().decisions, IsEmpty());
  turn_good("n1");
  later(1min);
  pass("n1", kDeepTest);
  settle();
  settle();
  EXPECT_EQ(entry_of("n2").phase, Phase::held);
}

}  // namespace
}  // namespace autopilot::controller
