// SPDX-License-Identifier: Apache-2.0
#include "drift/siblings.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace autopilot::drift {
namespace {

std::set<std::string> keys_of(std::span<const FactSet> nodes) {
  std::set<std::string> keys;
  for (const FactSet& node : nodes)
    for (const auto& [key, fact] : node.facts)
      keys.insert(key);
  return keys;
}

// The value of the most nodes first; of equal numbers the smaller text.
std::vector<SharedValue> ranked(std::map<std::string, std::vector<std::string>> nodes_by_value) {
  std::vector<SharedValue> values;
  for (auto& [value, nodes] : nodes_by_value) {
    std::ranges::sort(nodes);
    values.push_back({value, std::move(nodes)});
  }
  std::ranges::stable_sort(
      values, [](const SharedValue& a, const SharedValue& b) { return a.nodes.size() > b.nodes.size(); });
  return values;
}

void compare_fact(const std::string& key, std::span<const FactSet> nodes, SiblingReport& report) {
  std::map<std::string, std::vector<std::string>> nodes_by_value;
  UnknownFact unknown{key, {}};
  std::size_t known = 0;
  for (const FactSet& node : nodes) {
    const auto value = node.value_of(key);
    if (value) {
      nodes_by_value[*value].push_back(node.node);
      ++known;
    } else {
      unknown.nodes.push_back(node.node);
    }
  }
  std::ranges::sort(unknown.nodes);
  if (nodes_by_value.size() > 1) {
    SiblingDifference difference{key, ranked(std::move(nodes_by_value)), false};
    difference.has_majority =
        known >= kLeastForMajority && difference.values.front().nodes.size() * 2 > known;
    report.differences.push_back(std::move(difference));
  }
  if (unknown.nodes.empty())
    ++report.compared;
  else
    report.unknown.push_back(std::move(unknown));
}

}  // namespace

SiblingReport compare_siblings(std::span<const FactSet> nodes) {
  SiblingReport report;
  for (const std::string& key : keys_of(nodes))
    compare_fact(key, nodes, report);
  return report;
}

}  // namespace autopilot::drift
