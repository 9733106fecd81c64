// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/left_out.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nettest/run/bandwidth_run.hpp"

namespace autopilot::nettest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kGigabit = 1'000'000'000;

// "eth0=100": a line and its rate in Gbit/s.
PeerNetwork node(const std::string& name, const std::vector<std::pair<std::string, std::size_t>>& lines) {
  PeerNetwork network;
  network.peer = {.node = name, .address = "127.0.0.1", .port = 1};
  network.network.node = name;
  for (const auto& [interface, gigabits] : lines)
    network.network.addresses.push_back({interface, "10.1.0.1", 0, gigabits * kGigabit});
  return network;
}

PeerNetwork silent(const std::string& name) {
  PeerNetwork network;
  network.peer = {.node = name, .address = "127.0.0.1", .port = 1};
  network.problem = "does not answer";
  return network;
}

// "h5/net1 missed", "h6 left out".
std::vector<std::string> texts(const std::vector<PeerNetwork>& found, bool are_named = false,
                               const PairMedium& medium = kByTcp) {
  std::vector<PeerNetwork> reached = found;
  const auto run = plan_run(reached, medium, PairChoice{});
  EXPECT_TRUE(run);
  std::vector<std::string> texts;
  for (const LeftOut& left : left_out_of(found, medium, run->fabric(), are_named))
    texts.push_back(left.node + (left.line.empty() ? "" : "/" + left.line) +
                    (left.is_missed ? " missed" : " left out"));
  return texts;
}

TEST(EndedBefore, nothing_is_known_of_lines_that_were_in_no_test_that_ended) {
  const auto fabric = fabric_of(
      {node("a", {{"eth0", 100}, {"ib0", 100}}), node("b", {{"eth0", 100}, {"ib0", 100}})}, kByTcp, false);
  ASSERT_TRUE(fabric);
  Verdict verdict;
  verdict.unmeasured = {{.rail = 1, .node = 0, .why = {}}, {.rail = 1, .node = 1, .why = Missing::refused}};
  const std::vector<LeftOut> left = ended_before(verdict, *fabric);
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(reason_of(left[0], kByTcp), "ib0: the test was ended before");
  EXPECT_EQ(left[0].node, "a");
  EXPECT_TRUE(left[0].is_missed);
  verdict.is_complete = true;
  EXPECT_THAT(ended_before(verdict, *fabric), IsEmpty());
}

TEST(LeftOut, of_equal_nodes_none_is_left_out) {
  EXPECT_THAT(texts({node("a", {{"eth0", 100}}), node("b", {{"eth0", 100}})}), IsEmpty());
}

TEST(LeftOut, a_node_that_does_not_answer_is_missed) {
  EXPECT_THAT(texts({silent("h6"), node("a", {{"eth0", 100}}), node("b", {{"eth0", 100}})}),
              ElementsAre("h6 missed"));
}

TEST(LeftOut, a_line_of_another_rate_is_missed_though_its_node_has_others) {
  const std::vector<std::pair<std::string, std::size_t>> usual{{"net0", 25}, {"net1", 100}};
  EXPECT_THAT(texts({node("a", usual), node("b", usual), node("c", {{"net0", 25}, {"net1", 25}})}),
              ElementsAre("c/net1 missed"));
  EXPECT_THAT(texts({node("a", usual), node("b", usual), node("c", {{"net0", 25}, {"net1", 0}})}),
              ElementsAre("c/net1 missed"));
}

TEST(LeftOut, a_line_that_most_others_have_is_missed_where_it_is_down) {
  const std::vector<std::pair<std::string, std::size_t>> usual{{"net0", 25}, {"net1", 100}};
  EXPECT_THAT(texts({node("a", usual), node("b", usual), node("c", {{"net0", 25}})}),
              ElementsAre("c/net1 missed"));
  EXPECT_THAT(texts({node("a", usual), node("b", {{"net0", 25}}), node("c", {{"net0", 25}})}),
              ElementsAre("a/net1 left out"))
      << "it alone has one: that is how it is built";
}

TEST(LeftOut, a_node_without_any_line_is_missed_only_if_it_was_named) {
  const std::vector<PeerNetwork> nodes{node("a", {{"eth0", 100}}), node("b", {{"eth0", 100}}), node("c", {})};
  EXPECT_THAT(texts(nodes), ElementsAre("c left out"));
  EXPECT_THAT(texts(nodes, true), ElementsAre("c missed"));
  std::vector<PeerNetwork> with_ports = nodes;
  for (std::size_t i = 0; i < 2; ++i)
    with_ports[i].network.rdma = {{"mlx5_0/1", 200 * kGigabit}};
  EXPECT_THAT(texts(with_ports, false, kByRdma), ElementsAre("c left out"))
      << "a node without RDMA is not a fault";
}

TEST(LeftOut, a_node_with_fewer_gpus_is_missed_and_one_of_another_vendor_is_not) {
  std::vector<PeerNetwork> nodes{node("a", {}), node("b", {}), node("c", {}), node("d", {})};
  for (PeerNetwork& one : nodes) {
    one.network.gpus = 8;
    one.network.gpu_vendor = api::GpuVendor::nvidia;
  }
  nodes[2].network.gpus = 7;
  nodes[3].network.gpu_vendor = api::GpuVendor::amd;
  EXPECT_THAT(texts(nodes, false, kByNccl), ElementsAre("c/gpus-7 missed", "d/amd-gpus-8 left out"));
}

}  // namespace
}  // namespace autopilot::nettest
