// SPDX-License-Identifier: Apache-2.0
#include "controller/planner/breaker.hpp"

#include "controller/planner/planner_fixture.hpp"

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
              Contains(HasSubstr("BreakerOpen Controller/: 8 of 20 nodes of pool default turned bad by "
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

}  // namespace
}  // namespace autopilot::controller
