// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nettest/plan/fabric.hpp"
#include "nettest/plan/pair_result.hpp"

// A simulated fat tree for tests and figures: leaves with as many spines as each has uplinks, one such tree
// for each rail, flows that select an uplink by their ports and share it if several use it, noise, and faults
// of every kind.
namespace autopilot::nettest::simulation {

struct Shape {
  std::size_t nodes = 64;
  std::size_t per_leaf = 16;
  std::vector<std::size_t> small_leaves = {};  // that many of the last nodes are under leaves of their own
  std::size_t rails = 1;
  std::size_t oversubscription = 1;  // uplinks are fewer than the nodes of a leaf by this factor
  double noise = 0.02;               // standard deviation of a sample, as a share of its value
  double spread = 0;                 // standard deviation among healthy NICs, as a share
  double line_rate = 400e9;
  double reached = 0.92;         // of the line rate, without faults
  double across = 1;             // of that: limit of a flow between leaves
  double missing = 0;            // share of the tests that give no result
  bool do_flows_meet = true;     // false: each flow between leaves has an uplink of its own
  bool do_ports_change = false;  // between tests: a repeated flow takes another path
  bool knows_rates = true;
  bool knows_leaves = true;
  bool knows_uplinks = true;
  std::uint64_t seed = 1;

  [[nodiscard]] std::size_t uplinks() const { return std::max<std::size_t>(1, per_leaf / oversubscription); }
};

enum class Fault : std::uint8_t {
  node,
  nic,
  nic_sends,
  nic_receives,
  link,
  uplink,
  uplinks,
  spine,
  leaf,
  way
};

// The fault is of node or leaf `one`; of a link to node `other` or a path to leaf `other`; or of uplink or
// spine number `other`.
struct Planted {
  Fault kind = Fault::node;
  RailNumber rail = 0;  // for all kinds but node
  std::uint32_t one = 0;
  std::uint32_t other = 0;
  double loss = 0.3;  // 1: no data arrives
};

class SimulatedFabric {
 public:
  explicit SimulatedFabric(const Shape& shape)
      : shape_(shape),
        random_(shape.seed),
        leaf_of_(leaves_of(shape)),
        leaves_(leaf_of_.empty() ? 0 : leaf_of_.back() + 1),
        ends_(2 * shape.rails * shape.nodes, 1.0),
        uplinks_(shape.rails * leaves_ * shape.uplinks(), 1.0),
        spines_(shape.rails * shape.uplinks(), 1.0),
        meeting_(2 * uplinks_.size()) {
    if (shape.spread <= 0) return;
    std::normal_distribution<double> own(1, shape.spread);
    for (double& end : ends_)
      end = own(random_);
  }

  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] std::size_t leaves() const { return leaves_; }
  [[nodiscard]] std::size_t leaf_of(NodeNumber node) const { return leaf_of_[node]; }

  // The remaining share of a NIC's rate in its worse direction.
  [[nodiscard]] double left(RailNumber rail, NodeNumber node) const {
    const std::size_t place = 2 * (rail * shape_.nodes + node);
    return std::min(ends_[place], ends_[place + 1]);
  }

  [[nodiscard]] Fabric known() const {
    std::vector<FabricNode> nodes(shape_.nodes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].name = "n" + std::to_string(i);
      if (shape_.knows_leaves) nodes[i].leaf = "leaf" + std::to_string(leaf_of_[i]);
      for (std::size_t rail = 0; rail < shape_.rails; ++rail) {
        RailNic nic{std::to_string(rail), "mlx5_" + std::to_string(rail), {}};
        if (shape_.knows_rates) nic.line_rate = shape_.line_rate;
        nodes[i].nics.push_back(std::move(nic));
      }
    }
    std::vector<LeafUplinks> uplinks;
    for (std::size_t leaf = 0; leaf < leaves_ && shape_.knows_leaves && shape_.knows_uplinks; ++leaf)
      uplinks.push_back(
          {"leaf" + std::to_string(leaf), static_cast<std::uint32_t>(shape_.uplinks()), shape_.line_rate});
    return Fabric::create(std::move(nodes), uplinks).value();
  }

  void plant(const Planted& fault) {
    const double left = 1 - fault.loss;
    switch (fault.kind) {
      case Fault::node:
        for (RailNumber rail = 0; rail < shape_.rails; ++rail)
          lower_nic(rail, fault.one, left, true, true);
        break;
      case Fault::nic:
        lower_nic(fault.rail, fault.one, left, true, true);
        break;
      case Fault::nic_sends:
        lower_nic(fault.rail, fault.one, left, true, false);
        break;
      case Fault::nic_receives:
        lower_nic(fault.rail, fault.one, left, false, true);
        break;
      case Fault::link:
        links_.push_back(fault);
        break;
      case Fault::way:
        ways_.push_back(fault);
        break;
      case Fault::uplink:
        uplinks_[place(fault.rail, fault.one, fault.other)] *= left;
        break;
      case Fault::uplinks:
        for (std::size_t way = 0; way < shape_.uplinks(); ++way)
          uplinks_[place(fault.rail, fault.one, way)] *= left;
        break;
      case Fault::spine:
        spines_[fault.rail * shape_.uplinks() + fault.other] *= left;
        break;
      case Fault::leaf:
        for (NodeNumber node = 0; node < shape_.nodes; ++node)
          if (leaf_of(node) == fault.one) lower_nic(fault.rail, node, left, true, true);
        break;
    }
  }

  // All tests at once: the first samples of all share uplinks, then the second ones; first forward, then
  // backward.
  [[nodiscard]] std::vector<PairResult> run(std::span<const PairTest> tests) {
    ++runs_;
    std::vector<PairResult> results(tests.size());
    std::size_t longest = 0;
    std::vector<bool> is_missing(tests.size());
    for (std::size_t i = 0; i < tests.size(); ++i) {
      results[i].id = tests[i].id;
      longest = std::max(longest, tests[i].flows.size());
      if (shape_.missing > 0 && chance_(random_) < shape_.missing) {
        results[i].missing = Missing::timed_out;
      } else if (is_dead(tests[i])) {
        results[i].missing = Missing::no_answer;
      }
    }
    for (const bool is_forward : {true, false})
      for (std::size_t sample = 0; sample < longest; ++sample)
        take_sample(tests, sample, is_forward, results);
    return results;
  }

 private:
  struct Way {
    std::size_t up = 0;
    std::size_t down = 0;
    std::size_t spine = 0;
  };

  static std::vector<std::size_t> leaves_of(const Shape& shape) {
    std::vector<std::size_t> leaves(shape.nodes);
    const std::size_t few =
        std::accumulate(shape.small_leaves.begin(), shape.small_leaves.end(), std::size_t{0});
    for (std::size_t node = 0; node < leaves.size() - few; ++node)
      leaves[node] = node / shape.per_leaf;
    std::size_t next = leaves.size() - few;
    for (const std::size_t nodes : shape.small_leaves) {
      const std::size_t leaf = leaves[next - 1] + 1;
      std::fill_n(leaves.begin() + static_cast<std::ptrdiff_t>(next), nodes, leaf);
      next += nodes;
    }
    return leaves;
  }

  [[nodiscard]] std::size_t place(RailNumber rail, std::size_t leaf, std::size_t way) const {
    return (rail * leaves_ + leaf) * shape_.uplinks() + way;
  }
  [[nodiscard]] double& end(RailNumber rail, NodeNumber node, bool sends) {
    return ends_[2 * (rail * shape_.nodes + node) + (sends ? 0 : 1)];
  }
  void lower_nic(RailNumber rail, NodeNumber node, double left, bool sends, bool receives) {
    if (sends) end(rail, node, true) *= left;
    if (receives) end(rail, node, false) *= left;
  }
  [[nodiscard]] double link(const PairTest& test) const {
    double left = 1;
    for (const Planted& one : links_)
      if (one.rail == test.rail &&
          std::minmax(one.one, one.other) == std::minmax(test.source, test.destination))
        left = std::min(left, 1 - one.loss);
    return left;
  }
  [[nodiscard]] double way_left(const PairTest& test) const {
    const auto leaves = std::minmax({leaf_of(test.source), leaf_of(test.destination)});
    double left = 1;
    for (const Planted& one : ways_)
      if (one.rail == test.rail && std::minmax<std::size_t>({one.one, one.other}) == leaves)
        left = std::min(left, 1 - one.loss);
    return left;
  }
  [[nodiscard]] bool is_dead(const PairTest& test) {
    return std::min({end(test.rail, test.source, true), end(test.rail, test.source, false),
                     end(test.rail, test.destination, true), end(test.rail, test.destination, false),
                     link(test)}) < 1e-6;
  }

  [[nodiscard]] std::optional<Way> way_of(const PairTest& test, std::size_t sample, bool is_forward) const {
    const NodeNumber from = is_forward ? test.source : test.destination;
    const NodeNumber to = is_forward ? test.destination : test.source;
    if (leaf_of(from) == leaf_of(to)) return std::nullopt;
    std::uint64_t mixed = (std::uint64_t{from} << 40) ^ (std::uint64_t{to} << 20) ^ test.flows[sample];
    if (shape_.do_ports_change) mixed ^= runs_ << 56;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    const std::size_t spine = (mixed ^ (mixed >> 31)) % shape_.uplinks();
    return Way{place(test.rail, leaf_of(from), spine), place(test.rail, leaf_of(to), spine),
               test.rail * shape_.uplinks() + spine};
  }

  [[nodiscard]] double flows_at(std::size_t place) const {
    return shape_.do_flows_meet ? static_cast<double>(meeting_[place]) : 1;
  }

  void take_sample(std::span<const PairTest> tests, std::size_t sample, bool is_forward,
                   std::vector<PairResult>& results) {
    const std::size_t down = uplinks_.size();
    std::vector<std::pair<std::size_t, std::optional<Way>>> flows;
    for (std::size_t i = 0; i < tests.size(); ++i) {
      if (results[i].missing || sample >= tests[i].flows.size()) continue;
      flows.emplace_back(i, way_of(tests[i], sample, is_forward));
      if (const std::optional<Way>& way = flows.back().second) {
        ++meeting_[way->up];
        ++meeting_[down + way->down];
      }
    }
    for (const auto& [i, way] : flows) {
      const PairTest& test = tests[i];
      double share = shape_.reached * std::min({end(test.rail, test.source, is_forward),
                                                end(test.rail, test.destination, !is_forward), link(test)});
      if (way)
        share = std::min({share, shape_.reached * shape_.across, shape_.reached * way_left(test),
                          shape_.reached * spines_[way->spine],
                          shape_.reached * uplinks_[way->up] / flows_at(way->up),
                          shape_.reached * uplinks_[way->down] / flows_at(down + way->down)});
      double value = share * shape_.line_rate * (1 + shape_.noise * noise_(random_));
      if (test.most) value = std::min(value, *test.most);
      (is_forward ? results[i].forward : results[i].backward).push_back(std::max(value, 1.0));
    }
    for (const auto& [i, way] : flows)
      if (way) meeting_[way->up] = meeting_[down + way->down] = 0;
  }

  Shape shape_;
  std::mt19937_64 random_;
  std::normal_distribution<double> noise_;
  std::uniform_real_distribution<double> chance_;
  std::vector<std::size_t> leaf_of_;  // by node
  std::size_t leaves_;
  std::uint64_t runs_ = 0;
  std::vector<double> ends_;          // remaining share, by NIC, sender and receiver
  std::vector<double> uplinks_;       // by rail, leaf and spine
  std::vector<double> spines_;        // by rail and spine
  std::vector<std::size_t> meeting_;  // current flows on each uplink, upward, then downward
  std::vector<Planted> links_;
  std::vector<Planted> ways_;
};

}  // namespace autopilot::nettest::simulation
