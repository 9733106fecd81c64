// SPDX-License-Identifier: Apache-2.0
#include "nettest/run/left_out.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "nettest/run/way_back.hpp"

namespace autopilot::nettest {
namespace {

class Search {
 public:
  Search(const PairMedium& medium, const Fabric& fabric, bool are_named)
      : medium_(medium), fabric_(fabric), are_named_(are_named) {
    for (RailNumber rail = 0; rail < fabric.rails().size(); ++rail)
      for (NodeNumber node = 0; node < fabric.nodes().size(); ++node)
        if (const RailNic* nic = fabric.nic(rail, node)) {
          ++on_rail_[rail];
          ++with_line_[kind_of(nic->interface)];
        }
  }

  void add_unreached(const PeerNetwork& network) {
    left_out_.push_back({.node = network.peer.node, .line = "", .why = network.problem, .is_missed = true});
  }

  void add(const PeerNetwork& network, NodeNumber node) {
    const std::vector<Line> lines = medium_.lines_of(network.network);
    if (lines.empty()) return add(network, "", std::string(medium_.lack), are_named_);
    for (const Line& line : lines)
      look_at(network, node, line);
    if (medium_.is_line_node) return;
    for (const auto& [name, count] : with_line_)
      if (2 * count > fabric_.nodes().size() &&
          std::ranges::find(lines, name, &Line::interface) == lines.end())
        add(network, name, "has no such line that is up, as most others have", true);
  }

  [[nodiscard]] std::vector<LeftOut> take() { return std::move(left_out_); }

 private:
  void add(const PeerNetwork& network, std::string line, std::string why, bool is_missed) {
    left_out_.push_back(
        {.node = network.peer.node, .line = std::move(line), .why = std::move(why), .is_missed = is_missed});
  }

  // "gpus-" of "gpus-8": nodes whose line is all that they have differ in its number.
  [[nodiscard]] std::string kind_of(const std::string& line) const {
    return medium_.is_line_node ? line.substr(0, line.find_last_not_of("0123456789") + 1) : line;
  }

  void look_at(const PeerNetwork& network, NodeNumber node, const Line& line) {
    for (RailNumber rail = 0; rail < fabric_.rails().size(); ++rail) {
      const RailNic* const nic = fabric_.nic(rail, node);
      if (nic == nullptr || nic->interface != line.interface) continue;
      if (on_rail_.at(rail) > 1) return;
      // A line that other nodes have too differs in rate or number; any other line exists on this node alone.
      const bool is_odd = with_line_.at(kind_of(line.interface)) > 1;
      return add(network, line.interface,
                 "no other node has an " + std::string(medium_.line) +
                     (medium_.is_line_node ? "" : " and a known or equal rate"),
                 is_odd);
    }
    add(network, line.interface, "its rate is unknown, and network.most_percent allows only a share of it",
        true);
  }

  const PairMedium& medium_;
  const Fabric& fabric_;
  const bool are_named_;
  std::map<RailNumber, std::size_t> on_rail_;     // nodes
  std::map<std::string, std::size_t> with_line_;  // nodes, by kind_of
  std::vector<LeftOut> left_out_;
};

}  // namespace

std::vector<LeftOut> left_out_of(const std::vector<PeerNetwork>& found, const PairMedium& medium,
                                 const Fabric& fabric, bool are_named) {
  Search search(medium, fabric, are_named);
  NodeNumber node = 0;
  for (const PeerNetwork& network : found)
    if (network.problem.empty())
      search.add(network, node++);
    else
      search.add_unreached(network);
  return search.take();
}

std::vector<LeftOut> ended_before(const Verdict& verdict, const Fabric& fabric) {
  std::vector<LeftOut> left_out;
  if (verdict.is_complete) return left_out;
  for (const Unmeasured& one : verdict.unmeasured)
    if (!one.why)
      left_out.push_back({.node = fabric.nodes()[one.node].name,
                          .line = fabric.nic(one.rail, one.node)->interface,
                          .why = std::string(kEndedBefore),
                          .is_missed = true});
  return left_out;
}

std::string reason_of(const LeftOut& left, const PairMedium& medium) {
  return left.line.empty() || medium.is_line_node ? left.why : left.line + ": " + left.why;
}

}  // namespace autopilot::nettest
