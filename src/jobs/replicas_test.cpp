// SPDX-License-Identifier: Apache-2.0
#include "jobs/replicas.hpp"

#include <gtest/gtest.h>

namespace autopilot::jobs::replicas_test {
namespace {

constexpr WallTime kStart{std::chrono::hours(500000)};

WallTime at(int seconds) {
  return kStart + std::chrono::seconds(seconds);
}

ServingRecord served(int seconds, const std::string& replica, double running, double tokens_s,
                     double per_token_s) {
  ServingRecord record;
  record.time = at(seconds);
  record.replica = replica;
  record.running = running;
  record.tokens_s = tokens_s;
  if (per_token_s > 0) record.per_token_s = per_token_s;
  return record;
}

TEST(Replicas, a_replica_with_requests_and_without_tokens_is_hung) {
  Replicas replicas;
  replicas.add(served(0, "a", 4, 90, 0.02));
  for (int seconds = 10; seconds <= 120; seconds += 10)
    replicas.add(served(seconds, "a", 8, 0, 0));
  EXPECT_TRUE(replicas.hung(at(119)).empty());
  const auto hung = replicas.hung(at(120));
  ASSERT_EQ(hung.size(), 1U);
  EXPECT_EQ(hung[0].since, at(0));
  EXPECT_DOUBLE_EQ(hung[0].requests, 8);
}

TEST(Replicas, an_idle_replica_is_not_hung_and_its_next_request_starts_the_clock) {
  Replicas replicas;
  replicas.add(served(0, "a", 4, 90, 0.02));
  for (int seconds = 10; seconds <= 600; seconds += 10)
    replicas.add(served(seconds, "a", 0, 0, 0));
  replicas.add(served(610, "a", 1, 0, 0));
  EXPECT_TRUE(replicas.hung(at(610)).empty());
}

TEST(Replicas, a_replica_that_never_served_or_stopped_reporting_is_unknown) {
  Replicas replicas;
  replicas.add(served(0, "loads its model", 4, 0, 0));
  replicas.add(served(300, "loads its model", 4, 0, 0));
  replicas.add(served(0, "silent", 4, 90, 0.02));
  EXPECT_TRUE(replicas.hung(at(310)).empty());
}

TEST(Replicas, a_slow_one_is_found_after_eight_minutes_of_ten) {
  Replicas replicas;
  int found_after = 0;
  for (int minute = 1; minute <= 10 && found_after == 0; ++minute) {
    for (const char* name : {"a", "b", "c", "d"})
      replicas.add(served(60 * minute, name, 4, 90, std::string(name) == "c" ? 0.03 : 0.02));
    const auto slow = replicas.end_minute();
    if (slow.empty()) continue;
    found_after = minute;
    ASSERT_EQ(slow.size(), 1U);
    EXPECT_EQ(slow[0].replica, "c");
    EXPECT_NEAR(slow[0].ratio, 1.5, 1e-6);
  }
  EXPECT_EQ(found_after, 8);
}

TEST(Replicas, two_are_not_compared) {
  Replicas replicas;
  for (int minute = 1; minute <= 12; ++minute) {
    replicas.add(served(60 * minute, "a", 4, 90, 0.02));
    replicas.add(served(60 * minute, "b", 4, 90, 0.09));
    EXPECT_TRUE(replicas.end_minute().empty());
  }
}

TEST(Replicas, have_a_limit) {
  Replicas replicas;
  for (std::size_t number = 0; number <= Replicas::kMax; ++number) {
    replicas.add(served(0, std::to_string(number), 4, 90, 0.02));
    replicas.add(served(10, std::to_string(number), 4, 0, 0));
    replicas.add(served(150, std::to_string(number), 4, 0, 0));
  }
  EXPECT_EQ(replicas.hung(at(150)).size(), Replicas::kMax);
}

}  // namespace
}  // namespace autopilot::jobs::replicas_test
