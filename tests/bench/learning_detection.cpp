// SPDX-License-Identifier: Apache-2.0
#include "learning_detection.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "learning_fleet.hpp"
#include "learning_rules.hpp"

namespace autopilot::learning::bench {
namespace {

constexpr std::array kMagnitudes{0.05, 0.1, 0.2, 0.3};
constexpr std::array kContaminations{0.0, 0.1, 0.3};
constexpr double kShareOfBad = 0.1;
constexpr std::size_t kFleet = 400;
constexpr std::size_t kHeldOut = 500;

struct Scored {
  double score = 0;
  bool is_bad = false;
};

struct SeedCounts {
  double bad = 0, found = 0, wrong = 0;
};

double f1_of(double found, double wrong, double missed) {
  return found == 0 ? 0 : found / (found + (wrong + missed) / 2);
}

// Share of the pairs of a bad and a healthy node in which the bad one has the higher score.
double auc_of(std::vector<Scored>& scored) {
  std::ranges::sort(scored, {}, &Scored::score);
  double healthy = 0;
  double bad = 0;
  double right = 0;
  for (std::size_t i = 0; i < scored.size();) {
    double bad_here = 0;
    double healthy_here = 0;
    std::size_t j = i;
    for (; j < scored.size() && scored[j].score == scored[i].score; ++j)
      ++(scored[j].is_bad ? bad_here : healthy_here);
    right += bad_here * (healthy + healthy_here / 2);
    healthy += healthy_here;
    bad += bad_here;
    i = j;
  }
  return healthy * bad == 0 ? 0 : right / (healthy * bad);
}

struct Cell {
  Detection detection;
  std::vector<Scored> scored;
  std::vector<SeedCounts> seeds;
};

void judge(const NodeRule* rule, std::span<const FleetNode> nodes, Fleet fleet, Cell& cell) {
  SeedCounts& counts = cell.seeds.back();
  ++cell.detection.fleets;
  if (rule == nullptr) ++cell.detection.refused;
  for (const FleetNode& node : nodes) {
    ++(node.is_bad ? cell.detection.bad : cell.detection.healthy);
    if (node.is_bad) ++counts.bad;
    if (rule == nullptr) continue;
    const double score = rule->score(node, fleet);
    cell.scored.push_back({score, node.is_bad});
    if (score <= 1) continue;
    ++(node.is_bad ? cell.detection.found : cell.detection.wrong);
    ++(node.is_bad ? counts.found : counts.wrong);
  }
}

void run_seed(std::uint64_t seed, double magnitude, double contamination, std::vector<Cell>& cells) {
  for (Cell& cell : cells)
    cell.seeds.emplace_back();
  std::uint64_t metric_seed = 1000 * seed;
  for (const FleetMetric& metric : fleet_metrics()) {
    Fleet fleet(metric, ++metric_seed);
    const auto learned = fleet.make({.nodes = kFleet, .bad_share = contamination, .magnitude = magnitude});
    const auto held_out = fleet.make({.nodes = kHeldOut, .bad_share = kShareOfBad, .magnitude = magnitude});
    for (Cell& cell : cells) {
      const auto rule = learn_rule(cell.detection.rule, learned);
      judge(rule.get(), held_out, fleet, cell);
    }
  }
}

double drawn_f1(const std::vector<SeedCounts>& seeds, const std::vector<std::size_t>& drawn) {
  SeedCounts sum;
  for (const std::size_t i : drawn) {
    sum.bad += seeds[i].bad;
    sum.found += seeds[i].found;
    sum.wrong += seeds[i].wrong;
  }
  return f1_of(sum.found, sum.wrong, sum.bad - sum.found);
}

// Paired bootstrap over the seeds.
void add_gain(const Cell& ours, Cell& other) {
  constexpr std::size_t kDraws = 2000;
  Draw draw(1);
  std::vector<double> gains;
  std::vector<std::size_t> drawn(ours.seeds.size());
  for (std::size_t i = 0; i < kDraws; ++i) {
    for (std::size_t& one : drawn)
      one = draw.below(drawn.size());
    gains.push_back(drawn_f1(other.seeds, drawn) - drawn_f1(ours.seeds, drawn));
  }
  std::ranges::sort(gains);
  other.detection.gain_low = gains[kDraws / 40];
  other.detection.gain_high = gains[kDraws - 1 - kDraws / 40];
}

}  // namespace

double Detection::precision() const {
  return found + wrong == 0 ? 0 : static_cast<double>(found) / static_cast<double>(found + wrong);
}
double Detection::recall() const {
  return bad == 0 ? 0 : static_cast<double>(found) / static_cast<double>(bad);
}
double Detection::f1() const {
  return f1_of(static_cast<double>(found), static_cast<double>(wrong), static_cast<double>(bad - found));
}

std::vector<Detection> run_detection(const Seeds& seeds) {
  std::vector<Detection> result;
  for (const double magnitude : kMagnitudes)
    for (const double contamination : kContaminations) {
      std::vector<Cell> cells;
      for (const std::string_view name : rule_names())
        cells.push_back({{.rule = name, .magnitude = magnitude, .contamination = contamination}, {}, {}});
      for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed)
        run_seed(seed, magnitude, contamination, cells);
      for (Cell& cell : cells) {
        cell.detection.auc = auc_of(cell.scored);
        add_gain(cells.front(), cell);
        result.push_back(cell.detection);
      }
    }
  return result;
}

std::vector<Shift> run_shift(const Seeds& seeds) {
  std::vector<Shift> result;
  for (const double spread : {0.005, 0.01, 0.015, 0.02})
    for (const std::string_view name : {rule_names()[0], rule_names()[2], rule_names()[3]}) {
      Shift shift{.rule = name, .spread = spread};
      for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
        Fleet fleet({"", 0.005, spread, spread}, 77'000 + seed);
        const auto nodes = fleet.make({.nodes = kFleet, .shifted_share = 0.5, .shift = 0.04});
        const auto rule = learn_rule(name, nodes);
        ++shift.fleets;
        shift.nodes += nodes.size();
        if (rule == nullptr) {
          ++shift.refused;
          continue;
        }
        std::size_t failed = 0;
        for (const FleetNode& node : nodes)
          if (rule->score(node, fleet) > 1) ++failed;
        shift.failed += failed;
        shift.worst = std::max(shift.worst, static_cast<double>(failed) / static_cast<double>(nodes.size()));
      }
      result.push_back(shift);
    }
  return result;
}

std::vector<Breakdown> run_breakdown(const Seeds& seeds) {
  std::vector<Breakdown> result;
  for (const double magnitude : kMagnitudes) {
    Breakdown breakdown{.magnitude = magnitude};
    for (std::uint64_t seed = seeds.first; seed <= seeds.last; ++seed)
      for (const FleetMetric& metric : fleet_metrics()) {
        Fleet fleet(metric, 99'000 + seed);
        const auto nodes = fleet.make({.nodes = kFleet, .bad_share = 0.4, .magnitude = magnitude});
        const std::optional<double> centre = learned_centre(nodes);
        ++breakdown.fleets;
        if (!centre) ++breakdown.refused;
        // Nearer to the faulty nodes than to the healthy ones.
        else if (*centre < 100 * (1 - magnitude / 2))
          ++breakdown.wrong;
      }
    result.push_back(breakdown);
  }
  return result;
}

}  // namespace autopilot::learning::bench
