// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "controller/planner/draft.hpp"
#include "tests/support/controller/planner_fixture.hpp"

namespace autopilot::controller::lemons_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int kPool = 40;

class PlannerLemons : public Planner {
 protected:
  static void add(LemonSearch& search, const std::string& name, WallTime last_fault) {
    search.lemons.push_back({.node = name, .last_fault = last_fault, .why = name + " is a lemon: 8 faults"});
    search.last_faults.emplace(name, last_fault);
  }
  PlannerLemons() {
    add_nodes(kPool);
    policy_.rules.holds_lemons = true;
  }
  void call_lemons(const std::vector<std::string>& names, Duration age = 1h) {
    LemonSearch search;
    for (const std::string& name : names)
      add(search, name, now_ - age);
    world_.set_lemons(search);
  }
  // The same lemons, whose last faults do not change.
  void call_lemon_since(const std::string& name, WallTime last_fault) {
    LemonSearch search;
    add(search, name, last_fault);
    world_.set_lemons(search);
  }
  // The history has its faults, and it is none.
  void clear_lemon(const std::string& name, Duration age = 1h) {
    world_.set_lemons({.lemons = {}, .last_faults = {{name, now_ - age}}});
  }
  // A new leader, before its first search.
  void restart() { world_.set_lemons({}); }
  void live(Duration time) {
    for (Duration gone{0}; gone < time; gone += 1h) {
      later(1h);
      settle();
    }
  }
  int held() {
    int count = 0;
    for (const auto& [name, node] : world_.nodes())
      count += node.held ? 1 : 0;
    return count;
  }
};

TEST_F(PlannerLemons, a_lemon_is_held_and_its_plan_states_why_and_on_which_data) {
  call_lemons({"n1"});
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
  settle();
  EXPECT_EQ(entry_of("n1").cause, kLemonCause);
  EXPECT_THAT(entry_of("n1").evidence, Contains(HasSubstr("lemon-")));
  EXPECT_THAT(entry_of("n1").budget, HasSubstr("nodes held"));
}

TEST_F(PlannerLemons, running_pods_stay_on_a_lemon) {
  add_pod("p1", "n1", "job-1");
  call_lemons({"n1"});
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1"));
  settle();
  EXPECT_NE(world_.pod("uid-p1"), nullptr);
}

TEST_F(PlannerLemons, modes_that_do_not_act_only_record_it_once) {
  for (const Mode mode : {Mode::observe, Mode::hold}) {
    policy_.rules.mode = mode;
    const std::string name = mode == Mode::observe ? "n1" : "n2";
    call_lemons({name});
    EXPECT_THAT(steps_of(step()), ElementsAre("[cordon " + name + "]"));
    live(72h);
    EXPECT_EQ(entry_of(name).phase, Phase::recorded);
    EXPECT_THAT(entry_of(name).message, HasSubstr("changes nothing here"));
    EXPECT_EQ(world_.plans_on(name).size(), 1U);
    EXPECT_EQ(held(), 0);
  }
}

TEST_F(PlannerLemons, a_policy_without_lemons_records_in_mode_act_and_holds_after_it_was_changed) {
  policy_.rules.holds_lemons = false;
  call_lemons({"n1"});
  settle();
  EXPECT_EQ(entry_of("n1").phase, Phase::recorded);
  EXPECT_THAT(entry_of("n1").message, HasSubstr("lemons.hold"));
  policy_.rules.holds_lemons = true;
  settle();
  EXPECT_TRUE(node("n1").held);
}

TEST_F(PlannerLemons, the_budget_of_lemons_is_never_exceeded) {
  policy_.rules.pool_percent = 100;
  policy_.rules.domain_percent = 100;
  call_lemons({"n1", "n2", "n5", "n9", "n13"});
  live(24h);
  EXPECT_EQ(held(), 1);
  EXPECT_THAT(entry_of(node("n1").held ? "n2" : "n1").message, HasSubstr("1 of 1 allowed lemons"));
}

TEST_F(PlannerLemons, the_budget_of_the_pool_counts_lemons_and_faults_together) {
  policy_.rules.pool_percent = 1;
  turn_bad("n20");
  settle();
  ASSERT_TRUE(node("n20").held);
  call_lemons({"n1"});
  live(24h);
  EXPECT_FALSE(node("n1").held);
}

TEST_F(PlannerLemons, a_small_pool_loses_no_node_to_its_history) {
  for (int number = 11; number <= kPool; ++number)
    world_.remove_node("n" + std::to_string(number));
  call_lemons({"n1"});
  live(24h);
  EXPECT_EQ(held(), 0);
}

TEST_F(PlannerLemons, an_unknown_or_silent_node_is_not_held) {
  call_lemons({"n1"});
  change("n1", [](Node& node) { node.is_unknown = true; });
  live(3h);
  EXPECT_FALSE(node("n1").held);
  change("n1", [](Node& node) { node.is_unknown = false; });
  now_ += 1h;  // no report
  settle();
  EXPECT_FALSE(node("n1").held);
}

TEST_F(PlannerLemons, a_lemon_stays_out_of_service_until_a_person_returns_it) {
  call_lemons({"n1"});
  settle();
  pass("n1", kDeepTest);
  live(24h);
  EXPECT_TRUE(node("n1").held);
  EXPECT_THAT(entry_of("n1").message, HasSubstr("a person returns it"));
  change("n1", [](Node& node) { node.is_unschedulable = false; });
  settle();
  EXPECT_FALSE(node("n1").held);
}

TEST_F(PlannerLemons, a_held_lemon_gets_one_test) {
  call_lemons({"n1"});
  settle();
  later(1h);
  pass("n1", kDeepTest);
  for (int hour = 0; hour < 10; ++hour) {
    later(1h);
    EXPECT_THAT(steps_of(step()), IsEmpty());
  }
}

TEST_F(PlannerLemons, a_returned_lemon_is_held_again_only_after_another_fault) {
  const WallTime fault = now_ - 1h;
  call_lemon_since("n1", fault);
  settle();
  change("n1", [](Node& node) { node.is_unschedulable = false; });
  for (int day = 0; day < 10; ++day) {
    live(24h);
    call_lemon_since("n1", fault);
    EXPECT_FALSE(node("n1").held) << day;
  }
  call_lemon_since("n1", now_ - 1h);
  settle();
  EXPECT_TRUE(node("n1").held);
}

TEST_F(PlannerLemons, a_node_that_is_no_lemon_any_more_returns_after_proof) {
  call_lemons({"n1"});
  settle();
  later(1h);
  clear_lemon("n1");
  settle();
  EXPECT_TRUE(node("n1").held);
  pass("n1", kDeepTest);
  settle();
  EXPECT_FALSE(node("n1").held);
}

TEST_F(PlannerLemons, a_new_leader_keeps_a_held_lemon_until_its_history_has_the_faults) {
  const WallTime fault = now_ - 1h;
  call_lemon_since("n1", fault);
  settle();
  later(1h);
  pass("n1", kDeepTest);
  settle();
  ASSERT_TRUE(node("n1").held);
  restart();
  live(24h);
  EXPECT_TRUE(node("n1").held) << "not searched";
  EXPECT_THAT(entry_of("n1").message, HasSubstr("does not have its faults"));
  world_.set_lemons({.lemons = {}, .last_faults = {{"n2", now_}}});
  live(24h);
  EXPECT_TRUE(node("n1").held) << "a new history";
  world_.set_lemons({.lemons = {}, .last_faults = {{"n1", fault - 1h}}});
  live(24h);
  EXPECT_TRUE(node("n1").held) << "a history that ends before the hold";
  call_lemon_since("n1", fault);
  live(24h);
  EXPECT_TRUE(node("n1").held);
  world_.set_lemons({.lemons = {}, .last_faults = {{"n1", fault}}});
  settle();
  EXPECT_FALSE(node("n1").held);
}

TEST_F(PlannerLemons, a_lemon_that_waits_survives_a_new_leader) {
  const auto call_both = [this, first = now_ - 2h, second = now_ - 1h] {
    LemonSearch search;
    add(search, "n1", first);
    add(search, "n2", second);
    world_.set_lemons(search);
  };
  call_both();
  settle();
  ASSERT_TRUE(node("n1").held);
  ASSERT_EQ(entry_of("n2").phase, Phase::waiting);
  restart();
  live(2h);
  EXPECT_EQ(entry_of("n2").phase, Phase::waiting);
  call_both();
  settle();
  change("n1", [](Node& node) { node.is_unschedulable = false; });
  live(3h);
  EXPECT_TRUE(node("n2").held);
  EXPECT_FALSE(node("n1").held);
}

TEST_F(PlannerLemons, a_plan_that_ended_before_it_held_does_not_spend_the_fault) {
  const WallTime fault = now_ - 1h;
  change("n1", [](Node& node) { node.is_unknown = true; });
  call_lemon_since("n1", fault);
  settle();
  ASSERT_EQ(entry_of("n1").phase, Phase::waiting);
  clear_lemon("n1");
  settle();
  ASSERT_EQ(entry_of("n1").phase, Phase::over);
  call_lemon_since("n1", fault);
  change("n1", [](Node& node) { node.is_unknown = false; });
  settle();
  EXPECT_TRUE(node("n1").held);
}

TEST_F(PlannerLemons, a_plan_that_waits_for_a_history_ends_when_its_fault_is_too_old) {
  change("n1", [](Node& node) { node.is_unknown = true; });
  call_lemons({"n1"});
  settle();
  restart();
  live(kLemonAge + 2h);
  EXPECT_EQ(entry_of("n1").phase, Phase::over);
}

TEST_F(PlannerLemons, a_held_lemon_that_fails_returns_after_the_proof_of_a_failed_node) {
  call_lemons({"n1"});
  settle();
  turn_bad("n1");
  settle();
  EXPECT_EQ(entry_of("n1").cause, "nvlink_fatal");
  turn_good("n1");
  later(1h);
  pass("n1", kDeepTest);
  settle();
  EXPECT_FALSE(node("n1").held);
}

TEST_F(PlannerLemons, an_old_history_holds_no_node) {
  call_lemons({"n1"}, kLemonAge + 1h);
  live(24h);
  EXPECT_EQ(held(), 0);
  EXPECT_THAT(world_.plans_on("n1"), IsEmpty());
}

TEST_F(PlannerLemons, a_fault_is_handled_as_before) {
  add_pod("p1", "n1", "job-1");
  call_lemons({"n1"});
  turn_bad("n1");
  EXPECT_THAT(steps_of(step()), ElementsAre("cordon n1", "evict_pod p1"));
  settle();
  EXPECT_THAT(entry_of("n1").cause, Not(kLemonCause));
}

}  // namespace
}  // namespace autopilot::controller::lemons_test
