// SPDX-License-Identifier: Apache-2.0
#include "cli/output/bandwidth_plan_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(BandwidthPlanTable, tells_who_is_measured_with_whom_for_how_long_and_who_is_not) {
  const api::BandwidthPlan plan{.rails = {{"ib0", {"a", "b", "c"}}, {"ib1", {"c"}}},
                                .pairs = {{"ib0", "a", "c"}},
                                .seconds = 10,
                                .most_percent = 40,
                                .left_out = {{"d", "does not answer"}}};
  const std::string text = render_plan(plan, {});
  EXPECT_THAT(text, HasSubstr("ib0   3      a with c\n"));
  EXPECT_THAT(text, HasSubstr("ib1   1      none\n"));
  EXPECT_THAT(text, HasSubstr("about 10 s with 40 % of the line rate"));
  EXPECT_THAT(text, HasSubstr("LEFT OUT  REASON\nd         does not answer\n"));
}

TEST(BandwidthPlanTable, of_many_pairs_the_rest_is_counted) {
  api::BandwidthPlan plan{.rails = {{"ib0", {"a", "b"}}}, .pairs = {}, .seconds = 10, .left_out = {}};
  plan.pairs.assign(kMostPairsShown + 3, {"ib0", "a", "b"});
  const std::string text = render_plan(plan, {});
  EXPECT_THAT(text, HasSubstr("and 3 more"));
  EXPECT_THAT(text, HasSubstr("at the full line rate"));
  EXPECT_THAT(text, Not(HasSubstr("LEFT OUT")));
}

TEST(BandwidthPlanTable, of_all_pairs_says_how_many_rounds_they_take) {
  const api::BandwidthPlan plan{.rails = {{"ib0", {"a", "b", "c"}}},
                                .pairs = {{"ib0", "a", "b"}},
                                .seconds = 10,
                                .rounds = 3,
                                .left_out = {}};
  EXPECT_THAT(render_plan(plan, {}),
              HasSubstr("All pairs are tested, in 3 rounds of about 10 s at the full line rate"));
}

TEST(BandwidthPlanTable, says_that_a_machine_does_not_exist) {
  api::BandwidthPlan plan{
      .rails = {{"ib0", {"a", "b"}}}, .pairs = {{"ib0", "a", "b"}}, .seconds = 10, .left_out = {}};
  EXPECT_THAT(render_plan(plan, {}), StartsWith("RAIL"));
  plan.simulated = true;
  EXPECT_THAT(render_plan(plan, {}), StartsWith("SIMULATED\nRAIL"));
}

}  // namespace
}  // namespace autopilot::cli
