// SPDX-License-Identifier: Apache-2.0

#include "controller/planner/budget.hpp"

#include "tests/support/controller/planner_fixture.hpp"

namespace autopilot::controller {

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class Breaker : public Planner {
 protected:
  void turn_many_bad(int count, int first = 1) {
    for (int i = first; i < first + count; ++i)
      turn_bad("n" + std::to_string(i));
  }
};

TEST_F(Breaker, when_many_turn_bad_by_one_cause_nothing_is_held_or_moved_and_it_is_said_loudly) {
  add_nodes(20);
  for (int i = 1; i <= 8; ++i)
    add_pod("p" + std::to_string(i), "n" + std::to_string(i), "job-" + std::to_string(i));
  turn_many_bad(8);
  const Plan made = step();
  EXPECT_THAT(steps_of(made), IsEmpty());
  ASSERT_EQ(made.breakers.size(), 1U);
  EXPECT_EQ(made.breakers[0].nodes.size(), 8U);
  EXPECT_EQ(made.breakers[0].limit, 3);
  EXPECT_THAT(events_of(made),
              Contains(HasSubstr("BreakerOpen Controller/: 8 of 20 nodes of pool default failed with "
                                 "nvlink_fatal within 30m")));
  EXPECT_THAT(events_of(made), Contains(StartsWith("NodeNotHeld Node/n8: not held: 8 of 20")));
  EXPECT_EQ(entry_of("n1").brake, "breaker");
  EXPECT_THAT(look().decisions, IsEmpty());
}

TEST_F(Breaker, it_does_not_close_because_time_has_passed) {
  add_nodes(20);
  turn_many_bad(8);
  settle();
  later(6h);
  EXPECT_THAT(steps_of(step()), IsEmpty());
}

TEST_F(Breaker, it_closes_when_fewer_are_bad) {
  add_nodes(20);
  turn_many_bad(8);
  settle();
  for (int i = 1; i <= 6; ++i)
    turn_good("n" + std::to_string(i));
  settle();
  EXPECT_TRUE(node("n7").held.has_value());
}

TEST_F(Breaker, nodes_that_turn_bad_over_a_long_time_are_no_burst) {
  add_nodes(40);
  for (int i = 0; i < 4; ++i) {
    turn_bad("n" + std::to_string(1 + i * 4));
    later(31min);
  }
  EXPECT_THAT(look().breakers, IsEmpty());
}

TEST_F(Breaker, different_causes_are_no_burst) {
  add_nodes(40);
  turn_bad("n1", "a");
  turn_bad("n5", "b");
  turn_bad("n9", "c");
  EXPECT_THAT(look().breakers, IsEmpty());
}

TEST_F(Breaker, what_tests_have_shown_is_no_burst) {
  add_nodes(40);
  turn_many_bad(4);
  for (int i = 1; i <= 4; ++i)
    change("n" + std::to_string(i), [](Node& node) { node.causes[0].is_passive = false; });
  EXPECT_THAT(look().breakers, IsEmpty());
}

TEST_F(Breaker, the_limit_grows_with_the_pool) {
  add_nodes(200);
  turn_many_bad(9);
  EXPECT_THAT(look().breakers, IsEmpty());
  turn_many_bad(1, 10);
  EXPECT_EQ(look().breakers.size(), 1U);
  EXPECT_EQ(look().breakers[0].limit, 10);
}

TEST_F(Breaker, another_pool_goes_on) {
  policy_.pools.push_back({.name = "other", .selector = {}, .rules = policy_.rules});
  add_nodes(24);
  for (int i = 21; i <= 24; ++i)
    change("n" + std::to_string(i), [](Node& node) { node.pool = "other"; });
  turn_many_bad(8);
  turn_bad("n21");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n21"));
}

TEST_F(Breaker, it_is_said_though_the_first_nodes_are_held_already_and_once) {
  add_nodes(40);
  const auto said = [](const Plan& plan) {
    int count = 0;
    for (const std::string& event : events_of(plan))
      count += event.starts_with("BreakerOpen") ? 1 : 0;
    return count;
  };
  turn_bad("n1");
  settle();
  ASSERT_TRUE(node("n1").held.has_value());
  later(5min);
  turn_bad("n5");
  turn_bad("n9");
  EXPECT_EQ(said(step()), 1);
  settle();
  later(5min);
  turn_bad("n13");
  EXPECT_EQ(said(step()), 0);
  turn_good("n5");
  settle();
  later(1min);
  turn_bad("n17");
  EXPECT_EQ(said(step()), 0);
}

TEST_F(Breaker, nobody_is_asked_for_repairs_meanwhile) {
  add_nodes(40);
  Pod pod = add_pod("train-0", "n1", "train");
  turn_bad("n1");
  step();
  pod.is_deleting = true;
  world_.put(pod);
  turn_many_bad(3, 5);
  settle();
  world_.remove_pod(pod.uid);
  EXPECT_THAT(steps_of(step()), IsEmpty());
  for (int i = 5; i <= 7; ++i)
    turn_good("n" + std::to_string(i));
  EXPECT_THAT(steps_of(step()), Contains("request n1 reset_gpu"));
}

TEST_F(Breaker, a_proven_pod_is_moved_all_the_same) {
  add_nodes(20);
  turn_many_bad(8);
  settle();
  fail_preflight("train-0", "n12", "train");
  EXPECT_THAT(steps_of(step()), ElementsAre("evict_pod train-0"));
  EXPECT_EQ(entry_of("n12").brake, "breaker");
}

TEST_F(Breaker, moving_pods_stops_in_the_middle) {
  add_nodes(40);
  policy_.rules.evictions_per_hour = 1;
  for (const char* name : {"a", "b"}) {
    Pod pod = add_pod(name, "n1", name);
    pod.gpus = 4;
    world_.put(pod);
  }
  turn_bad("n1");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1", "evict_pod a"));
  turn_many_bad(3, 5);
  later(2h);
  EXPECT_THAT(steps_of(step()), IsEmpty());
  EXPECT_TRUE(node("n1").held.has_value());
}

TEST_F(Breaker, what_is_held_is_given_back_all_the_same) {
  add_nodes(40);
  turn_bad("n1", "other");
  settle();
  turn_many_bad(4, 5);
  turn_good("n1");
  later(1min);
  pass("n1", kDeepTest);
  EXPECT_THAT(steps_of(step()), Contains("uncordon n1"));
}

class Budgets : public Planner {
 protected:
  // Each has a cause of its own, so that no breaker trips.
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
  // The limits are two of twenty nodes, and one of a rack of four.
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
  EXPECT_THAT(entry_of("n2").message, HasSubstr("1 of 1 allowed nodes of failure domain rack-0"));
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
  // The report of another job holds it.
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
  // It was executed, and an operator took the cordon over before the next plan.
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
