// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace autopilot::nettest {

using NodeNumber = std::uint32_t;  // index in the fabric
using RailNumber = std::uint32_t;
using LeafNumber = std::uint32_t;
using NicNumber = std::uint32_t;  // index of a node and rail, whether or not the node has that NIC

struct RailNic {
  std::string rail;       // the name that all nodes use: NICs of one rail are tested against each other
  std::string interface;  // its name on the node: "mlx5_3", "eth2"
  std::optional<double> line_rate;  // bits/s
};

struct FabricNode {
  std::string name;
  std::string leaf;           // switch of the node: one for each rail, or one for all; empty: unknown
  std::vector<RailNic> nics;  // at most one for each rail
};

// Uplinks from a leaf to the spines, for one rail; if one switch serves all rails, the part of one rail.
struct LeafUplinks {
  std::string leaf;
  std::uint32_t count = 0;
  double line_rate = 0;  // bits/s of each uplink
};

// Distance of two nodes. unknown: the leaf of one of them is unknown.
enum class Locality : std::uint8_t { same_leaf, cross_leaf, unknown };

// Nodes, rails and leaves as known before any test. Numbers follow the order in which nodes, and rails within
// them, first appear.
class Fabric {
 public:
  static constexpr std::size_t kMostNodes = 16'384;
  static constexpr std::size_t kMostRails = 32;

  // malformed: a missing name, a duplicate name, a duplicate rail of a node, a rate that is not a positive
  // number, or uplinks of a leaf without nodes. exhausted: beyond the limits.
  [[nodiscard]] static Result<Fabric> create(std::vector<FabricNode> nodes,
                                             const std::vector<LeafUplinks>& uplinks = {});

  [[nodiscard]] const std::vector<FabricNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<std::string>& rails() const { return rails_; }
  [[nodiscard]] const std::vector<std::string>& leaves() const { return leaves_; }

  [[nodiscard]] std::size_t nics() const { return rails_.size() * nodes_.size(); }
  [[nodiscard]] NicNumber number(RailNumber rail, NodeNumber node) const {
    return static_cast<NicNumber>(rail * nodes_.size() + node);
  }
  [[nodiscard]] RailNumber rail_of(NicNumber nic) const {
    return static_cast<RailNumber>(nic / nodes_.size());
  }
  [[nodiscard]] NodeNumber node_of(NicNumber nic) const {
    return static_cast<NodeNumber>(nic % nodes_.size());
  }
  // nullopt if the node has no NIC on that rail.
  [[nodiscard]] const RailNic* nic(RailNumber rail, NodeNumber node) const;
  // no_leaf() if unknown.
  [[nodiscard]] LeafNumber leaf(NodeNumber node) const { return leaf_of_[node]; }
  [[nodiscard]] LeafNumber no_leaf() const { return static_cast<LeafNumber>(leaves_.size()); }
  // Nodes of the leaf, or of no_leaf(), that have the rail, in their order.
  [[nodiscard]] std::vector<NodeNumber> members(RailNumber rail, LeafNumber leaf) const;
  [[nodiscard]] const std::optional<LeafUplinks>& uplinks(LeafNumber leaf) const { return uplinks_[leaf]; }

  [[nodiscard]] Locality locality(NodeNumber a, NodeNumber b) const;
  // Line rate of the slower NIC; nullopt if one is unknown.
  [[nodiscard]] std::optional<double> line_rate(RailNumber rail, NodeNumber a, NodeNumber b) const;
  // The share of that rate for each of `tests` tests that leave the leaf at once, at most 1; 1 if the uplinks
  // are unknown.
  [[nodiscard]] double uplink_share(LeafNumber leaf, std::size_t tests, double line_rate) const;

 private:
  Fabric() = default;
  [[nodiscard]] Status add_nics();
  [[nodiscard]] Status add_uplinks(const std::vector<LeafUplinks>& uplinks);
  void add_leaves();

  std::vector<FabricNode> nodes_;
  std::vector<std::string> rails_;
  std::vector<std::string> leaves_;
  std::vector<LeafNumber> leaf_of_;
  std::vector<std::vector<NodeNumber>> nodes_of_;             // by leaf and no_leaf()
  std::vector<std::vector<std::optional<std::size_t>>> nic_;  // by rail and node: index among the node's NICs
  std::vector<std::optional<LeafUplinks>> uplinks_;           // by leaf
};

}  // namespace autopilot::nettest
