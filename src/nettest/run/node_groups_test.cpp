// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/node_groups.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autopilot::nettest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kGigabitOfNode = 1'000'000'000;

PeerNetwork node(const std::string& name, const std::string& leaf, std::size_t gpus = 8,
                 std::vector<api::NetworkAddress> addresses = {}) {
  PeerNetwork network;
  network.peer = {.node = name, .address = "10.9.0.1"};
  network.network = {name, "", std::move(addresses), leaf};
  network.network.gpus = gpus;
  return network;
}

std::vector<std::string> names_of(const std::vector<NodeGroup>& step) {
  std::vector<std::string> names;
  for (const NodeGroup& group : step) {
    names.push_back(group.name + ":");
    for (const PeerNetwork& member : group.members)
      names.back() += " " + member.peer.node;
  }
  return names;
}

TEST(NodeGroups, leaves_come_first_and_then_all_nodes_with_gpus) {
  const auto steps = group_steps({node("a", "L1"), node("b", "L2"), node("c", "L1"), node("d", "L2"),
                                  node("e", "L3"), node("f", ""), node("g", "L3", 0)});
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_THAT(names_of(steps[0]), ElementsAre("leaf L1: a c", "leaf L2: b d"));
  EXPECT_THAT(names_of(steps[1]), ElementsAre("all nodes: a b c d e f"));
  EXPECT_TRUE(steps[0][0].is_leaf);
  EXPECT_FALSE(steps[1][0].is_leaf);
}

TEST(NodeGroups, one_leaf_is_what_all_are) {
  EXPECT_EQ(group_steps({node("a", "L1"), node("b", "L1"), node("c", "L2")}).size(), 1U);
  EXPECT_EQ(group_steps({node("a", ""), node("b", "")}).size(), 1U);
}

TEST(NodeGroups, the_gpus_that_sum_up_are_of_the_vendor_that_most_nodes_have) {
  std::vector<PeerNetwork> nodes{node("a", ""), node("b", ""), node("c", "", 0), node("d", "", 0)};
  for (const std::size_t i : {1U, 2U, 3U})
    nodes[i].network.gpu_vendor = api::GpuVendor::amd;
  EXPECT_EQ(vendor_of_most(nodes), api::GpuVendor::nvidia) << "as many have either";
  EXPECT_THAT(why_not_beside(api::GpuVendor::nvidia, nodes[0].network), IsEmpty());
  EXPECT_EQ(why_not_beside(api::GpuVendor::nvidia, nodes[1].network),
            "its GPUs are of AMD, and do not sum up with those of NVIDIA");
  nodes[2].network.gpus = 1;
  EXPECT_EQ(vendor_of_most(nodes), api::GpuVendor::amd);
}

TEST(NodeGroups, an_all_reduce_has_two_nodes_and_no_more_than_can_be) {
  NodeGroup group{"all nodes", false, {node("a", "", 7)}};
  EXPECT_THAT(why_no_group(group), HasSubstr("fewer than two"));
  group.members.push_back(node("b", "", 8));
  EXPECT_THAT(why_no_group(group), IsEmpty());
  EXPECT_EQ(ranks_of(group), 15U);
  group.members.assign(kMostMembers + 1, node("c", "", 1));
  EXPECT_THAT(why_no_group(group), HasSubstr("65 nodes"));
}

TEST(NodeGroups, they_talk_on_the_fastest_interface_that_all_have) {
  const auto at = [](const std::string& number, const std::vector<std::string>& interfaces) {
    std::vector<api::NetworkAddress> addresses;
    for (const std::string& name : interfaces)
      addresses.push_back(
          {name, "10." + name.substr(3) + ".0." + number, 0, (name == "net2" ? 400 : 25) * kGigabitOfNode});
    return node("n" + number, "", 8, std::move(addresses));
  };
  NodeGroup group{"all nodes", false, {at("1", {"net1", "net2"}), at("2", {"net2", "net1"})}};
  EXPECT_THAT(addresses_in(group), ElementsAre("10.2.0.1", "10.2.0.2"));
  group.members.push_back(at("3", {"net1"}));
  EXPECT_THAT(addresses_in(group), ElementsAre("10.1.0.1", "10.1.0.2", "10.1.0.3"));
  group.members.push_back(at("4", {}));
  EXPECT_THAT(addresses_in(group), ElementsAre("10.9.0.1", "10.9.0.1", "10.9.0.1", "10.9.0.1"))
      << "as agents are asked";
}

TEST(NodeGroups, and_by_one_family) {
  const auto six = node("b", "", 8, {{"net1", "fd00::2"}});
  NodeGroup group{"all nodes", false, {node("a", "", 8, {{"net1", "10.1.0.1"}, {"net1", "fd00::1"}}), six}};
  EXPECT_THAT(addresses_in(group), ElementsAre("fd00::1", "fd00::2"));
}

}  // namespace
}  // namespace autopilot::nettest
