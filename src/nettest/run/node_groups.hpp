// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "api/bandwidth.hpp"
#include "nettest/run/address_book.hpp"

// Which nodes make an all-reduce together. Pure.
namespace autopilot::nettest {

// All ask the one that waits where it is reached, at about the same time, and join it within
// host::kNcclPatience.
inline constexpr std::size_t kMostMembers = 64;
static_assert(kMostMembers * api::NodeNetwork::kMostGpus <= api::kMostRanks);

// Whose GPUs sum up together, as those of two vendors do not: the one that most nodes have, NVIDIA's where as
// many have either.
[[nodiscard]] api::GpuVendor vendor_of_most(const std::vector<PeerNetwork>& networks);
// Why a node with GPUs takes no part beside those of that vendor; empty: it does.
[[nodiscard]] std::string why_not_beside(api::GpuVendor vendor, const api::NodeNetwork& network);

struct NodeGroup {
  std::string name;      // "leaf L1", "all nodes"
  bool is_leaf = false;  // those below one switch: comparable with others
  std::vector<PeerNetwork> members;
};

// What is done one after the other; groups of one step share no switch, and run at once. First the nodes
// below each leaf switch, where at least two switches have at least two; last all. Of nodes without GPUs
// none.
[[nodiscard]] std::vector<std::vector<NodeGroup>> group_steps(const std::vector<PeerNetwork>& networks);

[[nodiscard]] std::size_t ranks_of(const NodeGroup& group);
// Why it cannot be one all-reduce; empty: it can.
[[nodiscard]] std::string why_no_group(const NodeGroup& group);
// At which each of them is told to talk, in their order: those of one family on the fastest interface that
// all have; else where the agents are asked.
[[nodiscard]] std::vector<std::string> addresses_in(const NodeGroup& group);

}  // namespace autopilot::nettest
