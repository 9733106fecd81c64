// SPDX-License-Identifier: Apache-2.0
#include "jobs/decision/guard_rails.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <string>

namespace autopilot::jobs {
namespace {

using namespace std::chrono_literals;

const WallTime kRailsNow{std::chrono::seconds(1767225600)};

Request swap_of(const std::string& node, const std::string& job = "job", const std::string& cause = "clock") {
  return {job, Choice::swap_at_checkpoint, {EntityKind::gpu, node, 3, {}}, cause, true};
}

Request stop_of(const std::string& job, const std::string& node, const std::string& cause) {
  return {job, Choice::stop_now, {EntityKind::host, node, -1, {}}, cause, true};
}

GuardRails rails_of(std::size_t nodes, GuardLimits limits = {}) {
  GuardRails rails(limits);
  rails.set_nodes(nodes);
  return rails;
}

TEST(GuardRails, a_first_action_is_allowed) {
  const Permission permission = rails_of(1000).ask(swap_of("a"), kRailsNow);
  EXPECT_TRUE(permission.is_allowed);
  EXPECT_TRUE(permission.sentence.empty());
}

TEST(GuardRails, unknown_never_acts) {
  Request request = swap_of("a");
  request.is_known = false;
  EXPECT_EQ(rails_of(1000).ask(request, kRailsNow).rail, Rail::unknown);
  EXPECT_EQ(rails_of(0).ask(swap_of("a"), kRailsNow).rail, Rail::unknown);
  request = swap_of("a");
  request.culprit = {};
  EXPECT_EQ(rails_of(1000).ask(request, kRailsNow).rail, Rail::unknown);
  request.choice = Choice::stop_now;  // a hang without a culprit: the job may be stopped, no node is evicted
  EXPECT_TRUE(rails_of(1000).ask(request, kRailsNow).is_allowed);
}

TEST(GuardRails, at_most_three_evictions_an_hour) {
  GuardRails rails = rails_of(10000);
  for (int i = 0; i < 3; ++i) {
    const Request request = swap_of("node " + std::to_string(i), "job " + std::to_string(i));
    EXPECT_TRUE(rails.ask(request, kRailsNow + i * 1min).is_allowed);
    rails.acted(request, kRailsNow + i * 1min);
  }
  const Permission permission = rails.ask(swap_of("d", "other"), kRailsNow + 10min);
  EXPECT_EQ(permission.rail, Rail::hourly);
  EXPECT_FALSE(permission.pages);
  EXPECT_TRUE(rails.ask(swap_of("d", "other"), kRailsNow + 61min).is_allowed);
}

TEST(GuardRails, at_most_one_percent_of_the_nodes_a_day_and_one_in_a_small_cluster) {
  GuardRails rails = rails_of(250);
  rails.acted(swap_of("a", "1"), kRailsNow);
  rails.acted(swap_of("b", "2"), kRailsNow + 2h);
  EXPECT_EQ(rails.ask(swap_of("c", "3"), kRailsNow + 4h).rail, Rail::daily);
  EXPECT_TRUE(rails.ask(swap_of("b", "3"), kRailsNow + 4h).is_allowed);
  EXPECT_TRUE(rails.ask(swap_of("c", "3"), kRailsNow + 25h).is_allowed);
  EXPECT_TRUE(rails_of(4).ask(swap_of("a"), kRailsNow).is_allowed);
}

TEST(GuardRails, many_unhealthy_nodes_stop_all_actions_until_they_are_over) {
  GuardRails rails = rails_of(100);
  for (int i = 0; i < 5; ++i)
    rails.became_unhealthy("node " + std::to_string(i), kRailsNow);
  EXPECT_FALSE(rails.is_breaker_open(kRailsNow));
  rails.became_unhealthy("node 5", kRailsNow + 10min);
  EXPECT_TRUE(rails.is_breaker_open(kRailsNow + 10min));
  const Permission permission = rails.ask(swap_of("a"), kRailsNow + 11min);
  EXPECT_EQ(permission.rail, Rail::breaker);
  EXPECT_TRUE(permission.pages);
  EXPECT_NE(permission.sentence.find("6 of 100"), std::string::npos);
  EXPECT_TRUE(rails.ask(swap_of("a"), kRailsNow + 31min).is_allowed);
}

TEST(GuardRails, one_node_that_changes_often_opens_no_breaker) {
  GuardRails rails = rails_of(10);
  for (int i = 0; i < 50; ++i)
    rails.became_unhealthy("a", kRailsNow + i * 1s);
  rails.became_unhealthy("b", kRailsNow);
  EXPECT_FALSE(rails.is_breaker_open(kRailsNow + 1min));
}

TEST(GuardRails, a_job_is_stopped_once_in_six_hours_unless_it_makes_progress) {
  GuardRails rails = rails_of(1000);
  rails.acted(stop_of("job", "a", "hang"), kRailsNow);
  const Request again = stop_of("job", "b", "nic");
  EXPECT_EQ(rails.ask(again, kRailsNow + 5h).rail, Rail::stop_of_job);
  EXPECT_TRUE(rails.ask(again, kRailsNow + 7h).is_allowed);
  EXPECT_TRUE(rails.ask(stop_of("other job", "b", "nic"), kRailsNow + 1h).is_allowed);
  rails.made_progress("job", kRailsNow + 1h);
  EXPECT_TRUE(rails.ask(again, kRailsNow + 2h).is_allowed);
}

TEST(GuardRails, progress_before_the_stop_does_not_count) {
  GuardRails rails = rails_of(1000);
  rails.acted(stop_of("job", "a", "hang"), kRailsNow);
  rails.made_progress("job", kRailsNow - 1min);
  EXPECT_EQ(rails.ask(stop_of("job", "b", "nic"), kRailsNow + 1h).rail, Rail::stop_of_job);
}

TEST(GuardRails, what_did_not_help_is_not_repeated) {
  GuardRails rails = rails_of(10000);
  rails.acted(swap_of("a", "job", "clock"), kRailsNow);
  EXPECT_EQ(rails.ask(swap_of("a", "job", "pcie"), kRailsNow + 8h).rail, Rail::retry_entity);
  EXPECT_EQ(rails.ask(swap_of("b", "job", "clock"), kRailsNow + 8h).rail, Rail::retry_cause);
  rails.acted(swap_of("b", "job", "pcie"), kRailsNow + 8h);
  rails.acted(swap_of("c", "job", "nic"), kRailsNow + 16h);
  EXPECT_EQ(rails.ask(swap_of("d", "job", "host"), kRailsNow + 24h).rail, Rail::retry_job);
  rails.made_progress("job", kRailsNow + 25h);
  EXPECT_TRUE(rails.ask(swap_of("a", "job", "clock"), kRailsNow + 26h).is_allowed);
}

TEST(GuardRails, every_refusal_has_a_sentence) {
  GuardRails rails = rails_of(10000, {.evictions_an_hour = 1});
  rails.acted(swap_of("a"), kRailsNow);
  for (const Request& request :
       {swap_of("b"), stop_of("job", "a", "clock"), Request{"j", Choice::stop_now, {}, "", false}}) {
    const Permission permission = rails.ask(request, kRailsNow);
    EXPECT_FALSE(permission.is_allowed);
    EXPECT_FALSE(permission.sentence.empty());
  }
}

TEST(GuardRails, a_full_memory_refuses_instead_of_forgetting) {
  GuardRails rails = rails_of(100000, {.evictions_an_hour = 100, .jobs = 2, .records = 3});
  rails.acted(swap_of("a", "1"), kRailsNow);
  rails.acted(swap_of("b", "2"), kRailsNow);
  EXPECT_EQ(rails.ask(swap_of("c", "3"), kRailsNow).rail, Rail::memory);
  rails.ended("1");
  EXPECT_TRUE(rails.ask(swap_of("c", "3"), kRailsNow).is_allowed);
  for (int i = 0; i < 10; ++i)
    rails.became_unhealthy("node " + std::to_string(i), kRailsNow);
  EXPECT_EQ(rails.ask(swap_of("c", "3"), kRailsNow + 1h).rail, Rail::memory);
  EXPECT_TRUE(rails.ask(swap_of("c", "3"), kRailsNow + 25h).is_allowed);
}

TEST(GuardRails, a_clock_that_goes_back_frees_no_budget) {
  GuardRails rails = rails_of(1000);
  rails.acted(stop_of("job", "a", "hang"), kRailsNow);
  EXPECT_EQ(rails.ask(stop_of("job", "b", "nic"), kRailsNow - 24h).rail, Rail::stop_of_job);
}

TEST(GuardRails, continuing_needs_no_permission) {
  EXPECT_TRUE(rails_of(0).ask({}, kRailsNow).is_allowed);
}

TEST(GuardRails, the_second_half_of_an_action_counts_for_the_job_and_not_as_another_eviction) {
  GuardRails rails = rails_of(10000);
  const Request swap = swap_of("a");
  rails.acted(swap, kRailsNow);
  rails.made_progress("job", kRailsNow + 10min);
  EXPECT_TRUE(rails.ask_to_finish(swap, kRailsNow + 11min).is_allowed);
  rails.finished(swap, kRailsNow + 11min);
  EXPECT_EQ(rails.ask(swap, kRailsNow + 12min).rail, Rail::retry_entity);
  for (const char* node : {"b", "c"}) {
    EXPECT_TRUE(rails.ask(swap_of(node, node), kRailsNow + 13min).is_allowed) << node;
    rails.acted(swap_of(node, node), kRailsNow + 13min);
  }
  EXPECT_EQ(rails.ask(swap_of("d", "d"), kRailsNow + 14min).rail, Rail::hourly);
}

TEST(GuardRails, the_breaker_and_unknown_stop_a_second_half_too) {
  GuardRails rails = rails_of(20);
  rails.acted(swap_of("a"), kRailsNow);
  for (const char* node : {"b", "c", "d"})
    rails.became_unhealthy(node, kRailsNow + 1min);
  EXPECT_EQ(rails.ask_to_finish(swap_of("a"), kRailsNow + 2min).rail, Rail::breaker);
  EXPECT_TRUE(rails.ask_to_finish(swap_of("a"), kRailsNow + 40min).is_allowed);
  Request unknown = swap_of("a");
  unknown.is_known = false;
  EXPECT_EQ(rails.ask_to_finish(unknown, kRailsNow + 40min).rail, Rail::unknown);
}

}  // namespace
}  // namespace autopilot::jobs
