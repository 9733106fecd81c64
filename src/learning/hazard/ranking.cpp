// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace autopilot::learning {
namespace {

// A node in service on a day, or all nodes without a fault in the history.
struct RankedNode {
  double score = 0;
  bool has_fault = false;           // within the horizon
  std::optional<std::size_t> node;  // its index; nullopt: the nodes without a fault
};

using RankedDay = std::vector<RankedNode>;  // the highest score first

struct DayQuality {
  double precision = 0;
  double base_rate = 0;
  std::optional<double> auc;  // nullopt: all nodes have a fault, or no node has
};

RankedDay rank_nodes(const FleetHistory& fleet, const NodeScore& score, double day, double horizon) {
  RankedDay ranked;
  for (std::size_t i = 0; i < fleet.nodes.size(); ++i) {
    const NodeHistory& node = fleet.nodes[i];
    if (is_in_service(node, day))
      ranked.push_back({score.of_node(node, day), begins_between(node, day, day + horizon) > 0, i});
  }
  ranked.push_back({score.without_fault(day), false, std::nullopt});
  std::ranges::stable_sort(ranked, std::ranges::greater{}, &RankedNode::score);
  return ranked;
}

// Nodes of one score.
struct TieGroup {
  double nodes = 0;
  double hits = 0;
};

std::vector<TieGroup> groups_of(const RankedDay& ranked, const NodeDraw& draw) {
  std::vector<TieGroup> groups;
  std::optional<double> score;
  for (const RankedNode& one : ranked) {
    if (score != one.score) groups.emplace_back();
    score = one.score;
    const double times = one.node ? draw.nodes[*one.node] : draw.without_fault;
    groups.back().nodes += times;
    if (one.has_fault) groups.back().hits += times;
  }
  return groups;
}

DayQuality quality_of(const std::vector<TieGroup>& groups, double top_share) {
  double nodes = 0;
  double hits = 0;
  for (const TieGroup& group : groups) {
    nodes += group.nodes;
    hits += group.hits;
  }
  const double top = std::max(1.0, std::round(top_share * nodes));
  double left = top;
  double top_hits = 0;
  double hits_before = 0;
  double pairs_in_order = 0;
  for (const TieGroup& group : groups) {
    const double taken = std::min(left, group.nodes);
    if (taken > 0) top_hits += taken * group.hits / group.nodes;
    left -= taken;
    constexpr double half = 0.5;  // a pair of equal scores
    pairs_in_order += (group.nodes - group.hits) * (hits_before + half * group.hits);
    hits_before += group.hits;
  }
  DayQuality quality{top_hits / top, nodes > 0 ? hits / nodes : 0, std::nullopt};
  if (hits > 0 && nodes > hits) quality.auc = pairs_in_order / (hits * (nodes - hits));
  return quality;
}

// Means over all days; of the AUC, over the days that have one.
DayQuality mean_quality(const std::vector<RankedDay>& days, const NodeDraw& draw, double top_share) {
  DayQuality sum;
  double auc = 0;
  double auc_days = 0;
  for (const RankedDay& day : days) {
    const DayQuality quality = quality_of(groups_of(day, draw), top_share);
    sum.precision += quality.precision;
    sum.base_rate += quality.base_rate;
    if (!quality.auc) continue;
    auc += *quality.auc;
    auc_days += 1;
  }
  const auto count = static_cast<double>(days.size());
  return {sum.precision / count, sum.base_rate / count, auc / auc_days};
}

}  // namespace

RankingResult judge_ranking(const FleetHistory& fleet, const NodeScore& score, const RankingPlan& plan) {
  RankingResult result;
  result.name = score.name;
  if (plan.days.empty()) return result;
  std::vector<RankedDay> days;
  for (const double day : plan.days)
    days.push_back(rank_nodes(fleet, score, day, plan.horizon_days));
  const NodeDraws draws(fleet.nodes.size(), fleet.without_fault, plan.seed);
  const auto quality = [&](const NodeDraw& draw) { return mean_quality(days, draw, plan.top_share); };
  const DayQuality whole = quality(draws.whole());
  result.base_rate = whole.base_rate;
  result.precision =
      bootstrap(draws, plan.draws, [&](const NodeDraw& draw) { return quality(draw).precision; });
  if (whole.base_rate > 0) {
    result.lift = bootstrap(draws, plan.draws, [&](const NodeDraw& draw) {
      const DayQuality drawn = quality(draw);
      return drawn.precision / drawn.base_rate;
    });
    result.auc = bootstrap(draws, plan.draws, [&](const NodeDraw& draw) { return *quality(draw).auc; });
  }
  return result;
}

}  // namespace autopilot::learning
