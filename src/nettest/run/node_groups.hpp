// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/bandwidth.hpp"
#include "nettest/run/address_book.hpp"

// Which nodes make an all-reduce together. Pure.
namespace autopilot::nettest {

// All members ask the waiting member for its address at about the same time, and join it within
// host::kNcclPatience.
inline constexpr std::size_t kMostMembers = 64;
static_assert(kMostMembers * api::NodeNetwork::kMostGpus <= api::kMostRanks);

// Vendor of the GPUs that sum up together, because GPUs of two vendors cannot: the vendor that most nodes
// have; NVIDIA where both have as many nodes.
[[nodiscard]] api::GpuVendor vendor_of_most(const std::vector<PeerNetwork>& networks);
// Why a node with GPUs takes no part beside those of that vendor; empty: it does.
[[nodiscard]] std::string why_not_beside(api::GpuVendor vendor, const api::NodeNetwork& network);

struct NodeGroup {
  std::string name;      // "leaf L1", "all nodes"
  bool is_leaf = false;  // the nodes below one switch: comparable with other such groups
  std::vector<PeerNetwork> members;
};

// Steps that run one after the other; groups of one step share no switch and run at once. First the nodes
// below each leaf switch, if at least two switches have at least two nodes; last all nodes. Nodes without
// GPUs are in no group.
[[nodiscard]] std::vector<std::vector<NodeGroup>> group_steps(const std::vector<PeerNetwork>& networks);

[[nodiscard]] std::size_t ranks_of(const NodeGroup& group);
// Why the group cannot run one all-reduce; empty: it can.
[[nodiscard]] std::string why_no_group(const NodeGroup& group);
// Address that each member is to use, in their order: addresses of one family on the fastest interface that
// all members have; else the addresses at which the agents are asked.
[[nodiscard]] std::vector<std::string> addresses_in(const NodeGroup& group);

}  // namespace autopilot::nettest
