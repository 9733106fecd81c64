// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "nettest/plan/verdict.hpp"

namespace autopilot::nettest {
namespace {

std::string percent(double share) {
  return std::to_string(std::lround(100 * share)) + " %";
}

std::string counted(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

class Words {
 public:
  Words(const Fabric& fabric, const Suspect& suspect) : fabric_(fabric), suspect_(suspect) {}

  [[nodiscard]] const std::string& node(std::size_t place) const {
    return fabric_.nodes()[suspect_.nodes[place]].name;
  }
  [[nodiscard]] std::string on_rail() const {
    return suspect_.rail ? " on rail " + fabric_.rails()[*suspect_.rail] : "";
  }
  [[nodiscard]] std::string nic() const {
    const RailNic* nic = suspect_.rail ? fabric_.nic(*suspect_.rail, suspect_.nodes.front()) : nullptr;
    const bool adds_nothing = nic == nullptr || nic->interface.empty() || nic->interface == nic->rail;
    return node(0) + on_rail() + (adds_nothing ? "" : " (" + nic->interface + ")");
  }
  [[nodiscard]] std::string leaf() const { return fabric_.leaves()[suspect_.leaf.value_or(0)]; }
  [[nodiscard]] std::string other_leaf() const { return fabric_.leaves()[suspect_.other_leaf.value_or(0)]; }
  [[nodiscard]] std::string of_nodes() const {
    return suspect_.nodes.size() == 2 ? " (" + node(0) + " with " + node(1) + ")" : "";
  }
  // "31 % less than usual", or the fact that no data arrives.
  [[nodiscard]] std::string loss() const {
    return suspect_.is_unreachable ? "no data arrives" : percent(suspect_.loss) + " less than usual";
  }
  [[nodiscard]] std::string with_partners() const {
    return " with " + counted(suspect_.partners, "partner") + " that " +
           (suspect_.partners == 1 ? "is" : "are") + " healthy with others";
  }
  [[nodiscard]] std::string other_rails() const {
    if (suspect_.fine_rails == 0) return "";
    return "; " + counted(suspect_.fine_rails, "other rail") + " of the node " +
           (suspect_.fine_rails == 1 ? "is" : "are") + " healthy";
  }

 private:
  const Fabric& fabric_;
  const Suspect& suspect_;
};

std::string of_path(const Words& words, const Suspect& suspect, const PathFault& path) {
  const std::string low = std::to_string(path.low) + " of " + counted(path.flows, "flow") + " have " +
                          words.loss() + words.on_rail();
  switch (suspect.kind) {
    case SuspectKind::uplinks:
      return "uplinks of leaf " + words.leaf() + ": " + low;
    case SuspectKind::uplink:
      return "1 of ~" + std::to_string(path.ways) + " uplinks of leaf " + words.leaf() + ": " + low;
    case SuspectKind::between_leaves:
      return "between leaf " + words.leaf() + " and leaf " + words.other_leaf() + words.of_nodes() + ": " +
             low;
    default:
      return "1 of ~" + std::to_string(path.ways) + " spines: " + low + ", from all over the leaves";
  }
}

}  // namespace

std::string_view to_string(SuspectKind kind) {
  constexpr std::array<std::string_view, 12> kWords{"node",           "nic",   "nic_sends", "nic_receives",
                                                    "link",           "leaf",  "uplinks",   "uplink",
                                                    "between_leaves", "spine", "rail",      "undecided"};
  return kWords.at(static_cast<std::size_t>(kind));
}

std::string sentence_of(const Fabric& fabric, const Suspect& suspect, const PathFault* path) {
  const Words words(fabric, suspect);
  if (path != nullptr) return of_path(words, suspect, *path);
  switch (suspect.kind) {
    case SuspectKind::node:
      return words.node(0) + " on all its rails: " + words.loss() + words.with_partners();
    case SuspectKind::nic:
      return words.nic() + ": " + words.loss() + words.with_partners() + words.other_rails();
    case SuspectKind::nic_sends:
      return words.nic() + " sends: " + words.loss() + words.with_partners() + words.other_rails();
    case SuspectKind::nic_receives:
      return words.nic() + " receives: " + words.loss() + words.with_partners() + words.other_rails();
    case SuspectKind::link:
      return words.node(0) + " and " + words.node(1) + words.on_rail() + ": " + words.loss() +
             " between them, both are healthy with others";
    case SuspectKind::leaf:
      return "leaf " + words.leaf() + words.on_rail() + ": " + words.loss() + " on " +
             counted(suspect.nodes.size(), "node") + " under it" +
             (suspect.partners == 0 ? " with each other" : words.with_partners());
    case SuspectKind::rail:
      return "rail " + fabric.rails()[suspect.rail.value_or(0)] + " as a whole: " + words.loss() +
             " on the other rails, by line rate";
    default:
      return words.node(0) + " or " + words.node(1) + words.on_rail() +
             ", or the path between them: " + words.loss() + ", not tested with enough others";
  }
}

}  // namespace autopilot::nettest
