// SPDX-License-Identifier: Apache-2.0
#include "learning/baseline/contributors.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace autopilot::learning {
namespace {

std::string node_text(const Place& place) {
  return place.cluster + "/" + place.node;
}

// A fault of the node concerns all its cards; a fault of a card concerns that card and the node's own
// results.
bool concerns(const Fault& fault, const Place& place) {
  if (fault.place.cluster != place.cluster) return false;
  if (!fault.place.gpu.empty() && !place.gpu.empty()) return fault.place.gpu == place.gpu;
  return fault.place.node == place.node;
}

bool is_usable(const Measurement& measurement) {
  return !measurement.values.empty() && std::ranges::all_of(measurement.values, [](double value) {
    return std::isfinite(value) && value > 0;
  });
}

using FaultsOfNodes = std::map<std::string, std::vector<const Fault*>, std::less<>>;

class Exclusions {
 public:
  Exclusions(std::span<const Fault> faults, const std::set<std::string>& probation) : probation_(probation) {
    for (const Fault& fault : faults) {
      by_node_[node_text(fault.place)].push_back(&fault);
      if (!fault.place.gpu.empty()) by_gpu_[fault.place.cluster + "/" + fault.place.gpu].push_back(&fault);
    }
  }

  [[nodiscard]] bool has(const Measurement& measurement) const {
    const Place& place = measurement.place;
    return probation_.contains(node_text(place)) || !is_usable(measurement) ||
           has_fault(by_node_, node_text(place), measurement) ||
           has_fault(by_gpu_, place.cluster + "/" + place.gpu, measurement);
  }

 private:
  static bool has_fault(const FaultsOfNodes& faults, const std::string& key, const Measurement& measurement) {
    const auto found = faults.find(key);
    if (found == faults.end()) return false;
    return std::ranges::any_of(found->second, [&](const Fault* fault) {
      if (!concerns(*fault, measurement.place)) return false;
      return !fault->end || (fault->begin <= measurement.time && measurement.time < *fault->end);
    });
  }

  const std::set<std::string>& probation_;
  FaultsOfNodes by_node_, by_gpu_;  // a card keeps its faults when it moves
};

using Chosen = std::map<std::string, std::vector<const Measurement*>>;

// The latest values of a place, up to kMostValuesOfNode. Of equal times, the id decides.
std::vector<double> pooled_values(std::vector<const Measurement*> measurements) {
  std::ranges::sort(measurements, [](const Measurement* a, const Measurement* b) {
    return std::tie(b->time, b->id) < std::tie(a->time, a->id);
  });
  std::vector<double> values;
  for (const Measurement* measurement : measurements)
    for (const double value : measurement->values)
      if (values.size() < kMostValuesOfNode) values.push_back(value);
  return values;
}

Result<Contributions> pooled_nodes(const Chosen& chosen) {
  Contributions result;
  for (const auto& [place, measurements] : chosen) {
    std::vector<double> values = pooled_values(measurements);
    if (values.size() < kLeastValues) continue;
    for (const Measurement* measurement : measurements) {
      if (result.nodes.empty() || measurement->time < result.first) result.first = measurement->time;
      result.last = std::max(result.last, measurement->time);
    }
    Distribution distribution = TRY(Distribution::of(std::move(values)));
    result.nodes.push_back({place, std::move(distribution)});
  }
  return result;
}

// Text of a kind at a level; texts that cannot be parsed match no kind.
std::string text_at(const std::string& kind, KindLevel level) {
  const auto parsed = parse_kind(kind);
  return parsed ? kind_text(*parsed, level) : std::string();
}

}  // namespace

std::string place_text(const Place& place) {
  return place.gpu.empty() ? node_text(place) : node_text(place) + "/" + place.gpu;
}

Result<Contributions> contributions_of(std::span<const Measurement> measurements,
                                       std::span<const Fault> faults, const std::set<std::string>& probation,
                                       const std::string& kind, const std::string& check,
                                       const std::string& metric, std::size_t least_nodes) {
  const MachineKind wanted = TRY(parse_kind(kind));
  const Exclusions exclusions(faults, probation);
  for (const KindLevel level : kKindLevels) {
    const std::string level_kind = kind_text(wanted, level);
    Chosen chosen;
    std::set<std::string> excluded;
    for (const Measurement& measurement : measurements) {
      if (measurement.check != check || measurement.metric != metric) continue;
      if (text_at(measurement.kind, level) != level_kind) continue;
      if (exclusions.has(measurement))
        excluded.insert(place_text(measurement.place));
      else
        chosen[place_text(measurement.place)].push_back(&measurement);
    }
    Contributions found = TRY(pooled_nodes(chosen));
    if (found.nodes.size() < least_nodes) continue;
    found.level = level;
    found.kind = level_kind;
    found.excluded = excluded.size();
    return found;
  }
  return fail(Errc::not_found, metric + " of " + check + ": fewer than " + std::to_string(least_nodes) +
                                   " healthy machines of the kind \"" + kind + "\" have " +
                                   std::to_string(kLeastValues) +
                                   " values, also without firmware and driver; measure more machines");
}

}  // namespace autopilot::learning
