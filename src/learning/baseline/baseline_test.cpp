// SPDX-License-Identifier: Apache-2.0
#include "learning/baseline/baseline.hpp"

#include <gtest/gtest.h>
#include <limits>

#include "tests/support/learning/test_fleets.hpp"

namespace autopilot::learning {
namespace {

const MetricKey kBandwidth{"gpu=H100", "gpu.memory_bandwidth", "gbps", Worse::lower};

Reference fitted(const std::vector<test_fleets::Part>& parts) {
  return std::get<Reference>(fit_reference(test_fleets::make_fleet(parts), Worse::lower).value());
}

Baseline first_version(const std::vector<test_fleets::Part>& parts = {{300, 100}}) {
  return next_version(nullptr, kBandwidth, fitted(parts), {}).value().value();
}

TEST(Baselines, versions_count_on_and_name_their_parent) {
  const Baseline first = first_version();
  EXPECT_EQ(first.version, 1U);
  EXPECT_EQ(first.parent, 0U);
  const auto second = next_version(&first, kBandwidth, fitted({{300, 103}}), {}).value();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->version, 2U);
  EXPECT_EQ(second->parent, 1U);
}

TEST(Baselines, a_shift_up_to_one_percent_is_no_new_version) {
  const Baseline first = first_version();
  EXPECT_FALSE(next_version(&first, kBandwidth, fitted({{300, 100.7}}), {}).value());
  EXPECT_TRUE(next_version(&first, kBandwidth, fitted({{300, 101.5}}), {}).value());
}

TEST(Baselines, another_kind_of_machine_is_a_new_version) {
  const Baseline first = first_version();
  MetricKey other = kBandwidth;
  other.kind = "gpu=H200";
  EXPECT_TRUE(next_version(&first, other, fitted({{300, 100}}), {}).value());
}

TEST(Baselines, a_node_passes_is_repeated_or_fails) {
  Baseline baseline = first_version();
  baseline.alpha = 0.95;
  baseline.repeat_cv = 0.01;
  const auto verdict = [&](double value, int repeats) {
    return judge_node(baseline, std::vector<double>(9, value), repeats).verdict;
  };
  EXPECT_EQ(verdict(97, 0), BaselineVerdict::pass);
  EXPECT_EQ(verdict(94.5, 0), BaselineVerdict::repeat);  // noise of nine values: 1 %
  EXPECT_EQ(verdict(94.5, kMostRepeats), BaselineVerdict::fail);
  EXPECT_EQ(verdict(90, 0), BaselineVerdict::fail);
  EXPECT_EQ(verdict(120, 0), BaselineVerdict::pass);
}

TEST(Baselines, values_that_cannot_be_compared_are_unknown_and_never_pass) {
  const Baseline baseline = first_version();
  const auto judgement = judge_node(baseline, std::vector<double>{100, -1}, 0);
  EXPECT_EQ(judgement.verdict, BaselineVerdict::unknown);
  EXPECT_FALSE(judgement.reason.empty());
  Baseline damaged = baseline;
  damaged.sketch[50] = 0;
  EXPECT_EQ(judge_node(damaged, std::vector<double>{100}, 0).verdict, BaselineVerdict::unknown);
  damaged.sketch[50] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(judge_node(damaged, std::vector<double>{100}, 0).verdict, BaselineVerdict::unknown);
}

std::vector<ServingNode> serving(std::size_t good, std::size_t slow, Duration served) {
  std::vector<ServingNode> nodes;
  for (std::size_t i = 0; i < good + slow; ++i)
    nodes.push_back({"c/n" + std::to_string(i), served, std::vector<double>(5, i < good ? 100 : 94)});
  return nodes;
}

TEST(Canaries, a_version_that_fails_nodes_that_serve_well_is_not_accepted) {
  const Baseline parent = first_version({{300, 95}});
  const Baseline next = first_version({{300, 100}});
  EXPECT_TRUE(try_canary(&parent, next, serving(198, 2, kServedWell)).is_accepted());
  const Canary refused = try_canary(&parent, next, serving(197, 3, kServedWell));
  EXPECT_FALSE(refused.is_accepted());
  EXPECT_EQ(refused.flipped.size(), 3U);
}

TEST(Canaries, only_nodes_that_served_seven_days_count) {
  const Baseline next = first_version();
  EXPECT_TRUE(try_canary(nullptr, next, serving(10, 10, kServedWell - std::chrono::hours(1))).is_accepted());
  EXPECT_FALSE(try_canary(nullptr, next, serving(10, 10, kServedWell)).is_accepted());
}

TEST(Canaries, nodes_that_failed_before_are_not_flipped) {
  const Baseline same = first_version();
  EXPECT_TRUE(try_canary(&same, same, serving(10, 10, kServedWell)).is_accepted());
}

}  // namespace
}  // namespace autopilot::learning
