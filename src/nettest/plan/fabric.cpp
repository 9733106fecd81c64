// SPDX-License-Identifier: Apache-2.0
#include "nettest/plan/fabric.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace autopilot::nettest {
namespace {

bool is_rate(double bits_per_second) {
  return std::isfinite(bits_per_second) && bits_per_second > 0;
}

// The number of a name; an unknown name gets the next number.
std::uint32_t number_of(const std::string& name, std::vector<std::string>& names,
                        std::map<std::string, std::uint32_t, std::less<>>& numbers) {
  const auto [at, is_new] = numbers.try_emplace(name, static_cast<std::uint32_t>(names.size()));
  if (is_new) names.push_back(name);
  return at->second;
}

Status check_names(const std::vector<FabricNode>& nodes) {
  std::set<std::string_view> names;
  for (const FabricNode& node : nodes) {
    if (node.name.empty()) return fail(Errc::malformed, "fabric: a node has no name");
    if (!names.insert(node.name).second) return fail(Errc::malformed, "fabric: duplicate node " + node.name);
  }
  return {};
}

}  // namespace

Result<Fabric> Fabric::create(std::vector<FabricNode> nodes, const std::vector<LeafUplinks>& uplinks) {
  if (nodes.size() > kMostNodes)
    return fail(Errc::exhausted,
                "fabric: " + std::to_string(nodes.size()) + " nodes, at most " + std::to_string(kMostNodes));
  TRY_STATUS(check_names(nodes));
  Fabric fabric;
  fabric.nodes_ = std::move(nodes);
  TRY_STATUS(fabric.add_nics());
  fabric.add_leaves();
  TRY_STATUS(fabric.add_uplinks(uplinks));
  return fabric;
}

Status Fabric::add_nics() {
  std::map<std::string, std::uint32_t, std::less<>> numbers;
  for (std::size_t node = 0; node < nodes_.size(); ++node)
    for (std::size_t place = 0; place < nodes_[node].nics.size(); ++place) {
      const RailNic& nic = nodes_[node].nics[place];
      const std::string where = "fabric: node " + nodes_[node].name + ", rail " + nic.rail;
      if (nic.rail.empty()) return fail(Errc::malformed, where + ": missing rail name");
      if (nic.line_rate && !is_rate(*nic.line_rate))
        return fail(Errc::malformed, where + ": the line rate is not a positive number");
      const RailNumber rail = number_of(nic.rail, rails_, numbers);
      if (rail >= kMostRails)
        return fail(Errc::exhausted, where + ": more than " + std::to_string(kMostRails) + " rails");
      if (rail == nic_.size()) nic_.emplace_back(nodes_.size());
      if (nic_[rail][node]) return fail(Errc::malformed, where + " twice");
      nic_[rail][node] = place;
    }
  return {};
}

void Fabric::add_leaves() {
  std::map<std::string, std::uint32_t, std::less<>> numbers;
  for (const FabricNode& node : nodes_)
    if (!node.leaf.empty()) number_of(node.leaf, leaves_, numbers);
  nodes_of_.resize(leaves_.size() + 1);
  for (NodeNumber node = 0; node < nodes_.size(); ++node) {
    const auto known = numbers.find(nodes_[node].leaf);
    leaf_of_.push_back(known == numbers.end() ? no_leaf() : known->second);
    nodes_of_[leaf_of_.back()].push_back(node);
  }
}

Status Fabric::add_uplinks(const std::vector<LeafUplinks>& uplinks) {
  uplinks_.resize(leaves_.size());
  for (const LeafUplinks& one : uplinks) {
    const std::string where = "fabric: uplinks of leaf " + one.leaf;
    const auto leaf = std::ranges::find(leaves_, one.leaf);
    if (leaf == leaves_.end()) return fail(Errc::malformed, where + ": the leaf has no node");
    if (one.count == 0 || !is_rate(one.line_rate))
      return fail(Errc::malformed, where + ": count and rate must be positive");
    uplinks_[static_cast<std::size_t>(leaf - leaves_.begin())] = one;
  }
  return {};
}

const RailNic* Fabric::nic(RailNumber rail, NodeNumber node) const {
  const std::optional<std::size_t>& place = nic_[rail][node];
  return place ? &nodes_[node].nics[*place] : nullptr;
}

std::vector<NodeNumber> Fabric::members(RailNumber rail, LeafNumber leaf) const {
  std::vector<NodeNumber> members = nodes_of_[leaf];
  std::erase_if(members, [&](NodeNumber node) { return nic(rail, node) == nullptr; });
  return members;
}

Locality Fabric::locality(NodeNumber a, NodeNumber b) const {
  if (leaf_of_[a] == no_leaf() || leaf_of_[b] == no_leaf()) return Locality::unknown;
  return leaf_of_[a] == leaf_of_[b] ? Locality::same_leaf : Locality::cross_leaf;
}

std::optional<double> Fabric::line_rate(RailNumber rail, NodeNumber a, NodeNumber b) const {
  const RailNic* one = nic(rail, a);
  const RailNic* other = nic(rail, b);
  if (one == nullptr || other == nullptr || !one->line_rate || !other->line_rate) return std::nullopt;
  return std::min(*one->line_rate, *other->line_rate);
}

double Fabric::uplink_share(LeafNumber leaf, std::size_t tests, double line_rate) const {
  const std::optional<LeafUplinks>& uplinks = uplinks_[leaf];
  if (!uplinks || tests == 0) return 1;
  const double capacity = uplinks->count * uplinks->line_rate;
  // A test is one flow at a time, and a flow uses one uplink.
  const double most = std::min(capacity / static_cast<double>(tests), uplinks->line_rate);
  return std::min(1.0, most / line_rate);
}

}  // namespace autopilot::nettest
