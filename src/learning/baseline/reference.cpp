// SPDX-License-Identifier: Apache-2.0
#include "learning/baseline/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

namespace autopilot::learning {
namespace {

using Nodes = std::vector<const NodeResults*>;

constexpr int kMostRounds = 20;
constexpr double kCoreShare = 0.6;

struct FarNode {
  double distance = 0;
  const NodeResults* node = nullptr;
};

Distribution pool_of(const Nodes& nodes) {
  std::vector<const Distribution*> parts;
  for (const NodeResults* node : nodes)
    parts.push_back(&node->values);
  return Distribution::pooled(parts);
}

// The nodes nearest to the reference, in the order of places.
Nodes nearest(const Nodes& nodes, const Distribution& reference) {
  std::vector<FarNode> far;
  for (const NodeResults* node : nodes)
    far.push_back({difference(node->values, reference), node});
  std::ranges::sort(far, [](const FarNode& a, const FarNode& b) {
    return std::tie(a.distance, a.node->place) < std::tie(b.distance, b.node->place);
  });
  far.resize(static_cast<std::size_t>(std::ceil(kCoreShare * static_cast<double>(far.size()))));
  Nodes core;
  for (const FarNode& one : far)
    core.push_back(one.node);
  std::ranges::sort(core, {}, &NodeResults::place);
  return core;
}

Nodes core_of(const Nodes& nodes, std::uint64_t seed) {
  Nodes core = nearest(nodes, nodes[medoid_of(nodes, seed)]->values);
  for (int round = 0; round < kMostRounds; ++round) {
    Nodes next = nearest(nodes, pool_of(core));
    if (next == core) break;
    core = std::move(next);
  }
  return core;
}

double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

double median_variation(const Nodes& core) {
  std::vector<double> variations;
  for (const NodeResults* node : core)
    variations.push_back(node->values.variation());
  return middle_of(std::move(variations));
}

// Of the values of a node.
double median_count(const Nodes& nodes) {
  std::vector<double> counts;
  for (const NodeResults* node : nodes)
    counts.push_back(static_cast<double>(node->values.steps().size()));
  return middle_of(std::move(counts));
}

struct BetterSide {
  std::vector<double> margins;  // how far each node is better than the centre, relative, ascending
  double twice = 0;             // twice the share of these nodes; nodes that are equal count half
};

BetterSide better_side(const Nodes& nodes, const Distribution& centre, Worse worse) {
  constexpr double kEqual = 1e-9;
  const double middle = centre.mean();
  BetterSide side;
  double twice = 0;
  for (const NodeResults* node : nodes) {
    const double margin = (node->values.mean() - middle) / middle * (worse == Worse::lower ? 1 : -1);
    if (margin >= -kEqual) twice += margin <= kEqual ? 1 : 2;
    if (margin > kEqual) side.margins.push_back(margin);
  }
  std::ranges::sort(side.margins);
  side.twice = twice / static_cast<double>(nodes.size());
  return side;
}

// 99.9 % quantile of the shortfall of healthy nodes, from their margins on the better side.
double learned_spread(const std::vector<double>& margins) {
  constexpr double kShare = 0.9;      // of the better side: less depends on single nodes than at 99 %
  constexpr double kAtShare = 1.645;  // standard deviations of a normal distribution at 90 % of one side
  constexpr double kAt995 = 2.576;    // 99.5 %
  constexpr double kTail = 1.2;       // 99.5 % to 99.9 %
  if (margins.empty()) return 0;
  const auto place = static_cast<std::size_t>(kShare * static_cast<double>(margins.size() - 1));
  return kTail * kAt995 / kAtShare * margins[place];
}

double limit_of(const ReferenceRule& rule, const Nodes& nodes, double repeat_cv,
                const std::vector<double>& margins) {
  constexpr double kDeviations = 3;
  if (nodes.size() < rule.learned_nodes) return rule.default_limit;
  const double noise = kDeviations * repeat_cv / std::sqrt(median_count(nodes));
  return std::clamp(std::max(noise, learned_spread(margins)), rule.least_limit, rule.most_limit);
}

struct Groups {
  Bimodal medoids;
  double apart = 0;   // of the medoids
  double within = 0;  // median distance of a node to the medoid of its group
};

Groups split(const Nodes& nodes, const Nodes& core, std::uint64_t seed) {
  Nodes rest;
  std::ranges::set_difference(nodes, core, std::back_inserter(rest), {}, &NodeResults::place,
                              &NodeResults::place);
  if (rest.empty()) rest = core;
  const NodeResults& first = *core[medoid_of(core, seed)];
  const NodeResults& second = *rest[medoid_of(rest, seed)];
  Groups found{{first.values.median(), second.values.median(), first.place, second.place, 0, 0},
               difference(second.values, first.values),
               0};
  std::vector<double> distances;
  for (const NodeResults* node : nodes) {
    const double to_first = difference(node->values, first.values);
    const double to_second = difference(node->values, second.values);
    ++(to_first <= to_second ? found.medoids.first_nodes : found.medoids.second_nodes);
    distances.push_back(std::min(to_first, to_second));
  }
  found.within = middle_of(std::move(distances));
  return found;
}

// Two groups, neither of which is a minority, with a gap between them.
bool is_split(const Groups& groups, double least_share, std::size_t nodes) {
  constexpr double kGap = 5;  // of one normal distribution: 2.5
  const auto smaller = static_cast<double>(std::min(groups.medoids.first_nodes, groups.medoids.second_nodes));
  return smaller >= (1 - least_share) * static_cast<double>(nodes) && groups.apart > kGap * groups.within;
}

Result<Nodes> sorted_nodes(std::span<const NodeResults> nodes, std::size_t least) {
  if (nodes.size() < least)
    return fail(Errc::malformed, std::to_string(nodes.size()) + " nodes have results; a baseline needs " +
                                     std::to_string(least));
  Nodes sorted;
  for (const NodeResults& node : nodes)
    sorted.push_back(&node);
  std::ranges::sort(sorted, {}, &NodeResults::place);
  const auto twice = std::ranges::adjacent_find(sorted, {}, &NodeResults::place);
  if (twice != sorted.end())
    return fail(Errc::malformed, "two results of " + (*twice)->place + "; pool the values of a node first");
  return sorted;
}

}  // namespace

std::string Bimodal::sentence() const {
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(),
                "The results are two groups: %zu nodes near %.4g (medoid %.120s) and %zu near %.4g (medoid "
                "%.120s); compare firmware, settings and cooling of both",
                first_nodes, first_median, first_medoid.c_str(), second_nodes, second_median,
                second_medoid.c_str());
  return text.data();
}

Result<ReferenceAnswer> fit_reference(std::span<const NodeResults> nodes, Worse worse,
                                      const ReferenceRule& rule) {
  const Nodes sorted = TRY(sorted_nodes(nodes, std::max<std::size_t>(rule.least_nodes, 1)));
  const Nodes core = core_of(sorted, rule.seed);
  Reference found{pool_of(core)};
  const BetterSide better = better_side(sorted, found.centre, worse);
  found.nodes = sorted.size();
  found.repeat_cv = median_variation(core);
  found.limit = limit_of(rule, sorted, found.repeat_cv, better.margins);
  for (const NodeResults* node : sorted)
    if (shortfall(node->values, found.centre, worse) <= found.limit) ++found.within;
  const auto count = static_cast<double>(sorted.size());
  const Groups groups = split(sorted, core, rule.seed);
  if (static_cast<double>(found.within) < rule.least_share * count || better.twice < rule.least_better ||
      is_split(groups, rule.least_share, sorted.size()))
    return groups.medoids;
  return found;
}

}  // namespace autopilot::learning
