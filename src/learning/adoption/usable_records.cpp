// SPDX-License-Identifier: Apache-2.0
#include "learning/adoption/usable_records.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace autopilot::learning {
namespace {

constexpr std::size_t kMostNamedNodes = 5;

std::string some_of(const std::set<std::string>& names) {
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (++count > kMostNamedNodes) break;
    text += (text.empty() ? "" : ", ") + name;
  }
  if (names.size() > kMostNamedNodes)
    text += " and " + std::to_string(names.size() - kMostNamedNodes) + " more";
  return text;
}

void drop_future(std::vector<MeasurementFile>& files, WallTime now, std::vector<std::string>& notes) {
  std::size_t dropped = 0;
  std::set<std::string> nodes;
  for (MeasurementFile& file : files)
    dropped += std::erase_if(file.measurements, [&](const Measurement& one) {
      const bool is_later = one.time > now + kClockDifference;
      if (is_later) nodes.insert(one.place.node);
      return is_later;
    });
  if (dropped > 0)
    notes.push_back(std::to_string(dropped) + " measurements are left out: they are dated after " +
                    format_time(now) + ", so the clock of their node was wrong: " + some_of(nodes));
}

using CardsOfNode = std::map<std::string, std::set<std::string>>;

CardsOfNode cards_without_cluster(const MeasurementFile& file) {
  CardsOfNode cards;
  for (const Measurement& one : file.measurements)
    if (one.place.cluster.empty() && !one.place.gpu.empty()) cards[one.place.node].insert(one.place.gpu);
  return cards;
}

bool is_disjoint(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::ranges::none_of(a, [&b](const std::string& card) { return b.contains(card); });
}

// Nodes of one name in two files that share no card.
std::set<std::string> ambiguous_nodes(const std::vector<MeasurementFile>& files) {
  std::set<std::string> found;
  std::vector<CardsOfNode> known;
  for (const MeasurementFile& file : files) {
    CardsOfNode cards = cards_without_cluster(file);
    for (const auto& [node, own] : cards)
      for (const CardsOfNode& other : known)
        if (const auto same = other.find(node); same != other.end() && is_disjoint(own, same->second))
          found.insert(node);
    known.push_back(std::move(cards));
  }
  return found;
}

void drop_ambiguous(std::vector<MeasurementFile>& files, std::vector<std::string>& notes) {
  const std::set<std::string> nodes = ambiguous_nodes(files);
  if (nodes.empty()) return;
  for (MeasurementFile& file : files)
    std::erase_if(file.measurements, [&nodes](const Measurement& one) {
      return one.place.cluster.empty() && nodes.contains(one.place.node);
    });
  notes.push_back(std::to_string(nodes.size()) +
                  " node names are in several histories with different cards and are left out: " +
                  some_of(nodes) + ". Two clusters have the same names; learn from each cluster by itself");
}

std::vector<Measurement> joined_by_id(std::vector<MeasurementFile> files) {
  std::vector<Measurement> all;
  for (MeasurementFile& file : files)
    std::ranges::move(file.measurements, std::back_inserter(all));
  std::ranges::stable_sort(all, [](const Measurement& a, const Measurement& b) {
    return std::tie(a.id, b.time, b.place.node, b.values) < std::tie(b.id, a.time, a.place.node, a.values);
  });
  const auto repeated = std::ranges::unique(all, {}, &Measurement::id);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

struct LastPlace {
  WallTime time{};
  std::string node;
  bool has_moved = false;
};

void keep_last_nodes(std::vector<Measurement>& measurements, std::vector<std::string>& notes) {
  std::map<std::pair<std::string, std::string>, LastPlace> cards;
  for (const Measurement& one : measurements) {
    if (one.place.gpu.empty()) continue;
    LastPlace& last = cards[{one.place.cluster, one.place.gpu}];
    if (!last.node.empty() && last.node != one.place.node) last.has_moved = true;
    if (last.node.empty() || std::tie(last.time, last.node) < std::tie(one.time, one.place.node)) {
      last.time = one.time;
      last.node = one.place.node;
    }
  }
  const auto moved = std::ranges::count_if(cards, [](const auto& card) { return card.second.has_moved; });
  if (moved == 0) return;
  const std::size_t dropped = std::erase_if(measurements, [&cards](const Measurement& one) {
    return !one.place.gpu.empty() && cards.at({one.place.cluster, one.place.gpu}).node != one.place.node;
  });
  notes.push_back(
      std::to_string(moved) + " cards were measured on more than one node (a card moved, or a node " +
      "was renamed): their " + std::to_string(dropped) + " measurements on earlier nodes are left out");
}

}  // namespace

UsableMeasurements usable_measurements(std::vector<MeasurementFile> files, WallTime now) {
  UsableMeasurements result;
  drop_future(files, now, result.notes);
  drop_ambiguous(files, result.notes);
  result.measurements = joined_by_id(std::move(files));
  keep_last_nodes(result.measurements, result.notes);
  for (const Measurement& one : result.measurements)
    result.newest = std::max(result.newest, one.time);
  return result;
}

}  // namespace autopilot::learning
