// SPDX-License-Identifier: Apache-2.0
#include "api/bandwidth_plan.hpp"

#include <gtest/gtest.h>

namespace autopilot::api {
namespace {

TEST(BandwidthPlan, comes_back_as_it_was) {
  const BandwidthPlan plan{.rails = {{"ib0", {"a", "b", "c"}}},
                           .pairs = {{"ib0", "a", "b"}},
                           .seconds = 10,
                           .rounds = 3,
                           .most_percent = 40,
                           .left_out = {{"d", "does not answer"}},
                           .simulated = true};
  const auto back = parse_bandwidth_plan(to_json(plan));
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(*back, plan);
  EXPECT_EQ(*parse_bandwidth_plan(to_json(BandwidthPlan{})), BandwidthPlan{});
}

TEST(BandwidthPlan, half_a_plan_is_none) {
  for (
      const char* text :
      {"", "{}",
       R"({"simulated":false,"rails":[],"firstRound":[{"rail":"ib0"}],"firstRoundSeconds":1,"rounds":1,"mostPercent":1,"leftOut":[]})"})
    EXPECT_FALSE(parse_bandwidth_plan(text)) << text;
}

}  // namespace
}  // namespace autopilot::api
