// SPDX-License-Identifier: Apache-2.0
#include "learning/baseline/contributors.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace autopilot::learning {
namespace {

WallTime day(int days) {
  return WallTime(std::chrono::days(days));
}

// Two measurements of two values for each of `nodes` nodes, at days 1 and 2.
std::vector<Measurement> measured(int nodes, const std::string& kind, const std::string& prefix = "n") {
  std::vector<Measurement> result;
  for (int i = 0; i < nodes; ++i)
    for (int run = 1; run <= 2; ++run) {
      const std::string node = prefix + std::to_string(i);
      result.push_back({.id = node + "-" + std::to_string(run),
                        .place = {"c", node, ""},
                        .time = day(run),
                        .kind = kind,
                        .check = "net.loopback",
                        .metric = "gbps",
                        .values = {390.0 + run, 391.0 + run}});
    }
  return result;
}

Result<Contributions> contributed(const std::vector<Measurement>& measurements,
                                  const std::vector<Fault>& faults = {},
                                  const std::set<std::string>& probation = {},
                                  const std::string& kind = "gpu=H100;driver=570;firmware=28") {
  return contributions_of(measurements, faults, probation, kind, "net.loopback", "gbps");
}

TEST(Contributors, values_of_a_node_are_pooled) {
  const auto found = contributed(measured(20, "gpu=H100;driver=570;firmware=28"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->nodes.size(), 20U);
  EXPECT_EQ(found->nodes[0].values.steps().size(), 4U);
  EXPECT_EQ(found->level, KindLevel::full);
  EXPECT_EQ(found->first, day(1));
  EXPECT_EQ(found->last, day(2));
}

TEST(Contributors, nodes_with_open_faults_and_on_probation_never_contribute) {
  auto measurements = measured(23, "gpu=H100;driver=570;firmware=28");
  Fault open{.id = "f1", .place = {"c", "n3", ""}, .begin = day(5)};
  Fault closed{.id = "f2", .place = {"c", "n4", ""}, .begin = day(3), .end = day(4)};
  Fault of_card{.id = "f3", .place = {"c", "n5", "serial"}, .begin = day(3)};
  const auto found = contributed(measurements, {open, closed, of_card}, {"c/n6"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->nodes.size(), 20U);
  EXPECT_EQ(found->excluded, 3U);
  EXPECT_TRUE(std::ranges::none_of(found->nodes, [](const NodeResults& node) {
    return node.place == "c/n3" || node.place == "c/n5" || node.place == "c/n6";
  }));
}

TEST(Contributors, what_was_measured_during_a_fault_does_not_count) {
  Fault fault{.id = "f1", .place = {"c", "n3", ""}, .begin = day(0), .end = day(2)};
  const auto found = contributed(measured(21, "gpu=H100;driver=570;firmware=28"), {fault});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->nodes.size(), 20U);  // of n3 two values are left
}

TEST(Contributors, a_fault_of_a_node_of_the_same_name_in_another_cluster_does_not_matter) {
  const Fault fault{.id = "f1", .place = {"other", "n3", ""}, .begin = day(0)};
  EXPECT_EQ(contributed(measured(20, "gpu=H100;driver=570;firmware=28"), {fault})->nodes.size(), 20U);
}

TEST(Contributors, a_sparse_kind_backs_off_to_a_more_general_one) {
  auto measurements = measured(12, "gpu=H100;driver=570;firmware=28");
  const auto others = measured(9, "gpu=H100;driver=570;firmware=27", "m");
  measurements.insert(measurements.end(), others.begin(), others.end());
  const auto found = contributed(measurements);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->level, KindLevel::without_firmware);
  EXPECT_EQ(found->kind, "gpu=H100;driver=570");
  EXPECT_EQ(found->nodes.size(), 21U);
  EXPECT_EQ(contributed(measurements, {}, {}, "gpu=H200").error().code, Errc::not_found);
}

TEST(Contributors, unusable_values_and_other_metrics_do_not_count) {
  auto measurements = measured(20, "gpu=H100;driver=570;firmware=28");
  measurements[0].values = {0};
  EXPECT_FALSE(contributed(measurements));
  measurements[0].values = {390, 391};
  measurements[0].metric = "latency";
  EXPECT_FALSE(contributed(measurements));
  EXPECT_EQ(contributed(measurements, {}, {}, "nonsense").error().code, Errc::malformed);
}

}  // namespace
}  // namespace autopilot::learning
