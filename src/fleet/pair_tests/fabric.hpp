// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace autopilot::fleet {

using NodeNumber = std::uint32_t;  // its place in the fabric
using RailNumber = std::uint32_t;
using LeafNumber = std::uint32_t;
using NicNumber = std::uint32_t;  // of a node on a rail, whether or not it is there

struct RailNic {
  std::string rail;       // the word that all nodes use: NICs of one rail are tested against each other
  std::string interface;  // what the node calls it: "mlx5_3", "eth2"
  std::optional<double> line_rate;  // bits/s
};

struct FabricNode {
  std::string name;
  std::string leaf;  // the switches it is plugged into: one for each rail, or one for all; empty: not known
  std::vector<RailNic> nics;  // one for each rail at most
};

// What leads from a leaf to the spines, of one rail: where one switch has all rails, the part of a rail.
struct LeafUplinks {
  std::string leaf;
  std::uint32_t count = 0;
  double line_rate = 0;  // bits/s, of each
};

// How far two nodes are apart. unknown: the leaf of one of them is not known.
enum class Locality : std::uint8_t { same_leaf, cross_leaf, unknown };

// What is known of nodes, rails and leaves before anything is tested. Numbers follow the order in which
// nodes, and in them rails, were first named.
class Fabric {
 public:
  static constexpr std::size_t kMostNodes = 16'384;
  static constexpr std::size_t kMostRails = 32;

  // malformed: no name, a name twice, a rail twice on a node, a rate that is no positive number, uplinks of a
  // leaf that no node names. exhausted: more than the limits.
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
  // Nothing where the node is not on that rail.
  [[nodiscard]] const RailNic* nic(RailNumber rail, NodeNumber node) const;
  // no_leaf() where it is not known.
  [[nodiscard]] LeafNumber leaf(NodeNumber node) const { return leaf_of_[node]; }
  [[nodiscard]] LeafNumber no_leaf() const { return static_cast<LeafNumber>(leaves_.size()); }
  // Those of the leaf, or of no_leaf(), that are on the rail, in their order.
  [[nodiscard]] std::vector<NodeNumber> members(RailNumber rail, LeafNumber leaf) const;
  [[nodiscard]] const std::optional<LeafUplinks>& uplinks(LeafNumber leaf) const { return uplinks_[leaf]; }

  [[nodiscard]] Locality locality(NodeNumber a, NodeNumber b) const;
  // Of the slower of both NICs; nothing where one is not known.
  [[nodiscard]] std::optional<double> line_rate(RailNumber rail, NodeNumber a, NodeNumber b) const;
  // What of that rate is left for each of so many tests that leave the leaf at once, at most 1; 1 where the
  // uplinks are not known.
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
  std::vector<std::vector<std::optional<std::size_t>>> nic_;  // by rail and node: its place among the node's
  std::vector<std::optional<LeafUplinks>> uplinks_;           // by leaf
};

}  // namespace autopilot::fleet
