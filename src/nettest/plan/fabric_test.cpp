// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/fabric.hpp"

#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <utility>

namespace autopilot::nettest {
namespace {

constexpr double kRate = 100e9;

FabricNode node_of(std::string name, std::string leaf, std::vector<RailNic> nics) {
  return {std::move(name), std::move(leaf), std::move(nics)};
}

Errc code_of(std::vector<FabricNode> nodes, const std::vector<LeafUplinks>& uplinks = {}) {
  return Fabric::create(std::move(nodes), uplinks).error().code;
}

TEST(Fabric, knows_the_rails_and_the_leaf_of_each_node) {
  const Fabric fabric =
      Fabric::create({node_of("a", "x", {{"0", "eth2", kRate}, {"1", "eth3", kRate}}),
                      node_of("b", "x", {{"1", "eth3", kRate / 2}}),
                      node_of("c", "y", {{"0", "eth2", std::nullopt}}), node_of("d", "", {})})
          .value();
  EXPECT_EQ(fabric.rails(), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(fabric.leaves(), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(fabric.nic(1, 1)->interface, "eth3");
  EXPECT_EQ(fabric.nic(0, 1), nullptr);
  EXPECT_EQ(fabric.members(0, 0), std::vector<NodeNumber>{0});
  EXPECT_TRUE(fabric.members(0, fabric.no_leaf()).empty());
  EXPECT_EQ(fabric.locality(0, 1), Locality::same_leaf);
  EXPECT_EQ(fabric.locality(0, 2), Locality::cross_leaf);
  EXPECT_EQ(fabric.locality(0, 3), Locality::unknown);
  EXPECT_EQ(fabric.line_rate(1, 0, 1), kRate / 2);
  EXPECT_EQ(fabric.line_rate(0, 0, 2), std::nullopt);
}

TEST(Fabric, tests_that_leave_a_leaf_at_once_share_its_uplinks) {
  const Fabric fabric =
      Fabric::create({node_of("a", "x", {{"0", "eth2", kRate}}), node_of("b", "y", {{"0", "eth2", kRate}})},
                     {{"x", 4, kRate}})
          .value();
  EXPECT_DOUBLE_EQ(fabric.uplink_share(0, 1, kRate), 1);
  EXPECT_DOUBLE_EQ(fabric.uplink_share(0, 4, kRate), 1);
  EXPECT_DOUBLE_EQ(fabric.uplink_share(0, 16, kRate), 0.25);
  EXPECT_DOUBLE_EQ(fabric.uplink_share(1, 16, kRate), 1) << "uplinks of leaf y are unknown";
  EXPECT_DOUBLE_EQ(fabric.uplink_share(0, 1, 2 * kRate), 0.5) << "one flow has one uplink";
}

TEST(Fabric, may_be_empty) {
  EXPECT_TRUE(Fabric::create({}).value().nodes().empty());
}

TEST(Fabric, refuses_invalid_input) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(code_of({node_of("", "", {})}), Errc::malformed);
  EXPECT_EQ(code_of({node_of("a", "", {}), node_of("a", "", {})}), Errc::malformed);
  EXPECT_EQ(code_of({node_of("a", "", {{"0", "x", {}}, {"0", "y", {}}})}), Errc::malformed);
  EXPECT_EQ(code_of({node_of("a", "", {{"", "x", {}}})}), Errc::malformed);
  for (const double rate : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(code_of({node_of("a", "", {{"0", "x", rate}})}), Errc::malformed) << rate;
    EXPECT_EQ(code_of({node_of("a", "l", {})}, {{"l", 1, rate}}), Errc::malformed) << rate;
  }
  EXPECT_EQ(code_of({node_of("a", "l", {})}, {{"l", 0, kRate}}), Errc::malformed);
  EXPECT_EQ(code_of({node_of("a", "l", {})}, {{"other", 1, kRate}}), Errc::malformed);
}

TEST(Fabric, has_limits) {
  std::vector<FabricNode> many(Fabric::kMostNodes + 1);
  for (std::size_t i = 0; i < many.size(); ++i)
    many[i].name = std::to_string(i);
  EXPECT_EQ(code_of(many), Errc::exhausted);
  many.pop_back();
  EXPECT_TRUE(Fabric::create(many).has_value());
  FabricNode node{"a", "", {}};
  for (std::size_t i = 0; i <= Fabric::kMostRails; ++i)
    node.nics.push_back({std::to_string(i), "x", {}});
  EXPECT_EQ(code_of({node}), Errc::exhausted);
}

}  // namespace
}  // namespace autopilot::nettest
