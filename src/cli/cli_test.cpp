// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.hpp"

#include <gtest/gtest.h>

namespace autopilot::cli {

namespace {

NodeSnapshot node(Health health, Health of_one_check) {
  NodeSnapshot snapshot;
  snapshot.health = health;
  CheckResult result;
  result.health = of_one_check;
  snapshot.results.push_back(result);
  return snapshot;
}

TEST(ExitCode, is_the_health_of_the_node) {
  EXPECT_EQ(exit_code_of(node(Health::healthy, Health::healthy), false), 0);
  EXPECT_EQ(exit_code_of(node(Health::degraded, Health::degraded), false), 1);
  EXPECT_EQ(exit_code_of(node(Health::failed, Health::failed), false), 2);
  EXPECT_EQ(exit_code_of(node(Health::unknown, Health::unknown), false), 3);
}

TEST(ExitCode, strict_counts_every_check_that_could_not_look) {
  EXPECT_EQ(exit_code_of(node(Health::healthy, Health::unknown), false), 0);
  EXPECT_EQ(exit_code_of(node(Health::healthy, Health::unknown), true), 3);
  EXPECT_EQ(exit_code_of(node(Health::degraded, Health::unknown), true), 3);
  EXPECT_EQ(exit_code_of(node(Health::failed, Health::unknown), true), 2);
}

}  // namespace

}  // namespace autopilot::cli
