// SPDX-License-Identifier: Apache-2.0
#include "api/network.hpp"

#include <gtest/gtest.h>

namespace autopilot::api {
namespace {

TEST(NodeNetwork, what_is_written_is_read_again) {
  const NodeNetwork network{"node-a",
                            "autopilot-x1",
                            {{"eth0", "10.1.0.7", 1450}, {"net1-0", "fd00::7", 9000}, {"net2", "10.2.0.7"}},
                            "leaf-3",
                            {{"mlx5_0/1", 400'000'000'000, "ib0", "0000:1b:00.0"}, {"mlx5_1/1"}},
                            8};
  const auto read = parse_node_network(to_json(network));
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(*read, network);
}

TEST(NodeNetwork, an_agent_in_no_pod_with_no_address_says_so) {
  EXPECT_EQ(to_json(NodeNetwork{"node-a", "", {}}), "{\"node\":\"node-a\",\"addresses\":[]}\n");
}

TEST(NodeNetwork, what_is_missing_or_too_much_is_refused) {
  EXPECT_FALSE(parse_node_network(""));
  EXPECT_FALSE(parse_node_network(R"({"node":"a"})"));
  EXPECT_FALSE(parse_node_network(R"({"addresses":[]})"));
  EXPECT_FALSE(parse_node_network(R"({"node":"a","addresses":[{"interface":"eth0"}]})"));
  NodeNetwork network{"a", "", {}};
  network.addresses.resize(NodeNetwork::kMostAddresses + 1);
  const auto refused = parse_node_network(to_json(network));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("at most 64"), std::string::npos);
  network = {"a", "", {}};
  network.rdma.resize(NodeNetwork::kMostRdmaPorts + 1, {"mlx5_0/1"});
  EXPECT_EQ(parse_node_network(to_json(network)).error().what, "rdma: at most 64");
  network = {"a", "", {}};
  network.gpus = NodeNetwork::kMostGpus + 1;
  EXPECT_EQ(parse_node_network(to_json(network)).error().what, "gpus: at most 64");
  EXPECT_EQ(parse_node_network(R"({"node":"a","addresses":[],"gpus":8,"gpuVendor":"acme"})")->gpus, 0U);
}

TEST(NodeNetwork, gpus_of_which_nobody_says_whose_they_are_are_of_nvidia) {
  NodeNetwork network{"a", "", {}};
  network.gpus = 8;
  network.gpu_vendor = GpuVendor::amd;
  EXPECT_EQ(parse_node_network(to_json(network)).value(), network);
  EXPECT_NE(to_json(network).find(R"("gpus":8,"gpuVendor":"amd")"), std::string::npos);
  network.gpu_vendor = GpuVendor::nvidia;
  EXPECT_EQ(parse_node_network(R"({"node":"a","addresses":[],"gpus":8})").value(), network);
}

}  // namespace
}  // namespace autopilot::api
