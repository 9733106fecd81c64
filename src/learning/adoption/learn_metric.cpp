// SPDX-License-Identifier: Apache-2.0
#include "learning/adoption/learn_metric.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "learning/baseline/contributors.hpp"
#include "learning/baseline/reference.hpp"
#include "learning/proposers.hpp"

namespace autopilot::learning {
namespace {

bool is_on_node(const Place& place, const Place& node) {
  return place.cluster == node.cluster && place.node == node.node;
}

// Time of completed jobs on the node of the place since the last fault of the node or of one of its cards.
Duration served_well(const LearnInput& input, const Place& place) {
  WallTime since{};
  for (const Fault& fault : input.faults)
    if (is_on_node(fault.place, place)) since = std::max(since, fault.end.value_or(input.now));
  Duration sum{};
  for (const NodeJob& job : input.jobs) {
    if (job.outcome != JobOutcome::completed || !job.end || !is_on_node(job.place, place)) continue;
    const WallTime from = std::max(job.start, since);
    if (from < *job.end) sum += *job.end - from;
  }
  return sum;
}

std::vector<ServingNode> serving_places(const LearnInput& input, std::span<const Measurement> measurements,
                                        const HealthyPlaces& of) {
  std::map<std::string, ServingNode> places;
  std::map<std::string, Duration> served;  // by node
  for (const Measurement& one : measurements) {
    if (!is_of_kind(one, of.kind, of.level)) continue;
    const auto [node, is_new] = served.try_emplace(one.place.cluster + "/" + one.place.node);
    if (is_new) node->second = served_well(input, one.place);
    if (node->second < kServedWell) continue;
    ServingNode& place = places[place_text(one.place)];
    place.place = place_text(one.place);
    place.served = node->second;
    place.values.insert(place.values.end(), one.values.begin(), one.values.end());
  }
  std::vector<ServingNode> result;
  for (auto& [name, place] : places)
    result.push_back(std::move(place));
  return result;
}

Result<HealthyPlaces> healthy_places(const Contributions& found, Worse worse) {
  const ReferenceAnswer answer = TRY(fit_reference(found.nodes, worse));
  if (const auto* split = std::get_if<Bimodal>(&answer)) return fail(Errc::conflict, split->sentence());
  const auto& reference = std::get<Reference>(answer);
  HealthyPlaces healthy{.kind = found.kind,
                        .level = found.level,
                        .median = reference.centre.median(),
                        .places = {},
                        .excluded = found.excluded};
  for (const NodeResults& node : found.nodes) {
    if (shortfall(node.values, reference.centre, worse) <= reference.limit)
      healthy.places.insert(node.place);
    else
      ++healthy.excluded;
  }
  return healthy;
}

// A card that exceeds its nominal rate was measured or reported wrongly, in another unit for example.
Status check_possible(const LearnInput& input, const MetricKey& key, const HealthyPlaces& healthy) {
  const auto kind = parse_kind(healthy.kind);
  if (!kind || !input.limit_of) return {};
  const auto limit = input.limit_of(key.check, key.metric, *kind);
  if (!limit || !limit->is_share || healthy.median <= limit->whole) return {};
  return fail(Errc::conflict, "the median of the measurements, " + number_text(healthy.median) +
                                  ", is above the nominal rate in the catalog, " + number_text(limit->whole) +
                                  ": no such card is that fast. Check the unit and the measurement");
}

Status check_canary_of(const LearnInput& input, std::span<const Measurement> measurements,
                       const HealthyPlaces& healthy, const Baseline* parent, const Baseline& next) {
  const Canary canary = try_canary(parent, next, serving_places(input, measurements, healthy));
  if (canary.is_accepted()) return {};
  return fail(Errc::conflict,
              "the new baseline would fail " + std::to_string(canary.flipped.size()) + " of the " +
                  std::to_string(canary.nodes) +
                  " places that served jobs for a week without a fault, more than 1 %: first " +
                  canary.flipped.front() + ". Look for what these have in common before you learn again");
}

}  // namespace

std::string number_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);  // NOLINT(cert-err33-c): four digits always fit
  return text.data();
}

bool is_of_kind(const Measurement& measurement, const std::string& kind, KindLevel level) {
  const auto parsed = parse_kind(measurement.kind);
  return parsed && kind_text(*parsed, level) == kind;
}

Result<LearnedMetric> learn_metric(const LearnInput& input, std::span<const Measurement> measurements,
                                   const MetricKey& key) {
  const Contributions found =
      TRY(contributions_of(measurements, input.faults, input.probation, key.kind, key.check, key.metric));
  LearnedMetric metric;
  metric.subject = key.metric + " of " + key.check + " on " + found.kind;
  metric.healthy = TRY(healthy_places(found, key.worse));
  TRY_STATUS(check_possible(input, key, metric.healthy));
  const Version* used = in_use(input.versions, ProposalKind::baseline, metric.subject, "");
  const Baseline* parent = used == nullptr ? nullptr : &std::get<Baseline>(used->learned);
  auto proposed = TRY(propose_baseline(measurements, input.faults, input.probation, key, parent, input.now));
  if (!proposed) return metric;
  TRY_STATUS(check_canary_of(input, measurements, metric.healthy, parent, proposed->baseline));
  metric.proposal = Version{std::move(proposed->proposal), std::move(proposed->baseline), {}};
  return metric;
}

}  // namespace autopilot::learning
