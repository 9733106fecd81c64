// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "workloads/compare/figures.hpp"

namespace autopilot::workloads::compare {
namespace {

std::string side_name(const Side& side) {
  return side.letter + " (" + side.name + ")";
}

// A single number without a repeat: its noise is not known, and a smaller difference shows nothing.
constexpr double kNoise_percent = 1;

// Sets the winner, if the difference of the figure is larger than its noise.
void conclude_by(Comparison& found, const Figure& figure) {
  const double a = figure.a->value;
  const double b = figure.b->value;
  const int digits = digits_that_differ(a, b);
  const double relative = a == 0 ? 0 : 100 * std::abs(b - a) / std::abs(a);
  const std::string values =
      "A " + number_text(a, digits) + ", B " + number_text(b, digits) + " " + figure.unit;
  const bool is_open = figure.difference && figure.difference->low <= 0 && figure.difference->high >= 0;
  if (is_open || a == b) {
    found.conclusion = figure.name + " shows no difference: " + values + ".";
    return;
  }
  if (!figure.difference && a != 0 && relative < kNoise_percent) {
    found.conclusion = figure.name + " shows no difference: " + values + " (" + number_text(relative) +
                       " % of A, below the " + number_text(kNoise_percent) +
                       " % that single numbers without bounds can show; repeat the run to know its spread).";
    return;
  }
  const bool is_b = (b > a) == (figure.better > 0);
  const Side& side = is_b ? found.b : found.a;
  found.winner = side.letter;
  found.conclusion =
      side_name(side) + " does better by " + figure.name + ": " + values + " (" + number_text(relative) +
      " % of A)" +
      (figure.difference ? "." : "; a single number without bounds, repeat the run to know its spread.");
}

// Sets the winner, if the deciding figure shows one.
void conclude(Comparison& found) {
  if (found.verdict.verdict != Comparability::comparable) {
    const auto reasons = found.verdict.reasons().size();
    found.conclusion = "The sides are " + std::string(words_of(found.verdict.verdict)) + " (" +
                       std::to_string(reasons) + (reasons == 1 ? " reason" : " reasons") +
                       "), so neither is named better.";
    return;
  }
  const Figure* figure = deciding_figure(found.figures);
  if (figure == nullptr || figure->better == 0) {
    found.conclusion =
        "The sides are comparable, but no figure of the same work exists for both, so neither is named "
        "better.";
    return;
  }
  if (!figure->undecided.empty()) {
    found.conclusion = "The sides are comparable, but " + figure->undecided + ", so neither is named better.";
    return;
  }
  conclude_by(found, *figure);
}

}  // namespace

Comparison compare_sides(Side a, Side b, const std::optional<CostModel>& cost,
                         const std::vector<Claim>& claims) {
  Comparison found;
  found.a = std::move(a);
  found.b = std::move(b);
  found.verdict = comparability_of(found.a, found.b);
  found.figures = figures_of(found.a, found.b);
  for (const Side* side : {&found.a, &found.b})
    for (Remark& remark : remarks_of(*side))
      found.remarks.push_back(std::move(remark));
  std::stable_sort(found.remarks.begin(), found.remarks.end(),
                   [](const Remark& x, const Remark& y) { return x.kind < y.kind; });
  for (const Claim& claim : claims)
    found.claims.push_back(check_claim(claim, found.a, found.b));
  if (cost) {
    found.cost_file = cost->file;
    found.currency = cost->currency;
    found.costs = cost_lines(*cost, found.a, found.b);
  }
  conclude(found);
  return found;
}

std::string_view words_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::performance:
      return "Performance";
    case Dimension::elasticity:
      return "Elasticity";
    case Dimension::economics:
      return "Economics";
    case Dimension::data_access:
      return "Data access";
    case Dimension::scalability:
      break;
  }
  return "Scalability";
}

}  // namespace autopilot::workloads::compare
