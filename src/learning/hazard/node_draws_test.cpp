// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/node_draws.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <numeric>

namespace autopilot::learning {
namespace {

double size_of(const NodeDraw& draw) {
  return std::accumulate(draw.nodes.begin(), draw.nodes.end(), draw.without_fault);
}

TEST(NodeDrawing, every_draw_has_the_size_of_the_fleet) {
  NodeDraws draws(5, 95, 1);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(size_of(draws.next()), 100);
  EXPECT_EQ(draws.whole().nodes, std::vector<double>(5, 1));
  EXPECT_EQ(draws.whole().without_fault, 95);
}

TEST(NodeDrawing, the_interval_of_a_share_is_that_of_the_binomial) {
  const BootstrapInterval interval = bootstrap(
      NodeDraws(100, 300, 1), 2000, [](const NodeDraw& draw) { return 1 - draw.without_fault / 400; });
  EXPECT_EQ(interval.value, 0.25);
  EXPECT_NEAR(interval.low, 0.25 - 1.96 * 0.02165, 0.006);
  EXPECT_NEAR(interval.high, 0.25 + 1.96 * 0.02165, 0.006);
}

TEST(NodeDrawing, draws_without_a_value_do_not_count) {
  const BootstrapInterval interval = bootstrap(NodeDraws(1, 3, 1), 100, [](const NodeDraw& draw) {
    return draw.nodes[0] > 0 ? 2.0 : std::numeric_limits<double>::quiet_NaN();
  });
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 2);
}

}  // namespace
}  // namespace autopilot::learning
