// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/node_groups.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace autopilot::nettest {
namespace {

std::vector<NodeGroup> leaves_of(const std::vector<PeerNetwork>& nodes) {
  std::map<std::string, std::vector<PeerNetwork>> below;
  for (const PeerNetwork& node : nodes)
    if (!node.network.leaf.empty()) below[node.network.leaf].push_back(node);
  std::vector<NodeGroup> groups;
  for (auto& [leaf, members] : below)
    if (members.size() > 1) groups.push_back({"leaf " + leaf, true, std::move(members)});
  return groups;
}

// The first of that family there; empty: none.
std::string address_on(const PeerNetwork& node, const std::string& interface, bool is_ipv6) {
  for (const api::NetworkAddress& one : node.network.addresses)
    if (one.interface == interface && api::is_ipv6(one.address) == is_ipv6) return one.address;
  return {};
}

// Of all of them; nothing: one has none.
std::optional<std::vector<std::string>> addresses_on(const NodeGroup& group, const std::string& interface,
                                                     bool is_ipv6) {
  std::vector<std::string> addresses;
  for (const PeerNetwork& node : group.members) {
    addresses.push_back(address_on(node, interface, is_ipv6));
    if (addresses.back().empty()) return std::nullopt;
  }
  return addresses;
}

std::string_view name_of(api::GpuVendor vendor) {
  return vendor == api::GpuVendor::amd ? "AMD" : "NVIDIA";
}

}  // namespace

api::GpuVendor vendor_of_most(const std::vector<PeerNetwork>& networks) {
  const auto count = [&networks](api::GpuVendor vendor) {
    return std::ranges::count_if(networks, [vendor](const PeerNetwork& node) {
      return node.network.gpus > 0 && node.network.gpu_vendor == vendor;
    });
  };
  return count(api::GpuVendor::amd) > count(api::GpuVendor::nvidia) ? api::GpuVendor::amd
                                                                    : api::GpuVendor::nvidia;
}

std::string why_not_beside(api::GpuVendor vendor, const api::NodeNetwork& network) {
  if (network.gpu_vendor == vendor) return {};
  return std::string("its GPUs are of ")
      .append(name_of(network.gpu_vendor))
      .append(", and do not sum up with those of ")
      .append(name_of(vendor));
}

std::vector<std::vector<NodeGroup>> group_steps(const std::vector<PeerNetwork>& networks) {
  NodeGroup all{"all nodes", false, {}};
  std::ranges::copy_if(networks, std::back_inserter(all.members),
                       [](const PeerNetwork& node) { return node.network.gpus > 0; });
  std::vector<std::vector<NodeGroup>> steps;
  if (std::vector<NodeGroup> leaves = leaves_of(all.members); leaves.size() > 1)
    steps.push_back(std::move(leaves));
  steps.push_back({std::move(all)});
  return steps;
}

std::size_t ranks_of(const NodeGroup& group) {
  std::size_t ranks = 0;
  for (const PeerNetwork& node : group.members)
    ranks += node.network.gpus;
  return ranks;
}

std::string why_no_group(const NodeGroup& group) {
  if (group.members.size() < 2) return "fewer than two of its nodes take part";
  if (group.members.size() <= kMostMembers) return {};
  return "it has " + std::to_string(group.members.size()) + " nodes, and one all-reduce is made by " +
         std::to_string(kMostMembers) + " at most";
}

std::vector<std::string> addresses_in(const NodeGroup& group) {
  std::vector<std::string> addresses;
  for (const PeerNetwork& node : group.members)
    addresses.push_back(node.peer.address);
  std::optional<std::size_t> fastest;
  for (const api::NetworkAddress& one : group.members.front().network.addresses) {
    if (fastest && one.rate <= *fastest) continue;
    auto on_it = addresses_on(group, one.interface, api::is_ipv6(one.address));
    if (!on_it) continue;
    addresses = *std::move(on_it);
    fastest = one.rate;
  }
  return addresses;
}

}  // namespace autopilot::nettest
