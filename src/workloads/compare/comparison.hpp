// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/intervals.hpp"
#include "workloads/compare/claims.hpp"
#include "workloads/compare/comparability.hpp"
#include "workloads/compare/cost.hpp"
#include "workloads/compare/observations.hpp"
#include "workloads/compare/side.hpp"

// Two runs, side by side: what can be compared, what differs, and what the numbers are based on. Pure.
namespace autopilot::workloads::compare {

enum class Dimension : std::uint8_t { performance, elasticity, economics, data_access, scalability };

struct FigureValue {
  double value = 0;
  std::vector<Source> sources;
};

// One figure of both sides.
struct Figure {
  Dimension dimension{};
  std::string name;  // "CPU %user, mean"
  std::string unit;
  std::optional<FigureValue> a, b;
  std::optional<Interval> difference;  // 95 % bounds of b - a
  std::string caveat;                  // what the figure does not show; may be empty
  // +1: more is better, -1: less is better, 0: neither, as of utilisation.
  int better = 0;
  // Why the figure names no winner although both sides have it: a clause; empty: it can decide.
  std::string undecided;
};

struct Comparison {
  Side a, b;
  ComparabilityVerdict verdict;
  std::vector<Figure> figures;  // ordered by dimension
  std::vector<Remark> remarks;
  std::vector<CheckedClaim> claims;
  std::string cost_file;
  std::string currency;
  std::vector<CostLine> costs;
  // The side that did better and by which figure; empty: the sides are not comparable, have no result of
  // work, or their bounds include 0.
  std::string winner;
  std::string conclusion;  // one sentence, also without a winner
};

// The sides are complete (side.hpp).
[[nodiscard]] Comparison compare_sides(Side a, Side b, const std::optional<CostModel>& cost,
                                       const std::vector<Claim>& claims);

[[nodiscard]] std::string_view words_of(Dimension dimension);
inline constexpr std::array kDimensions{Dimension::performance, Dimension::elasticity, Dimension::economics,
                                        Dimension::data_access, Dimension::scalability};

}  // namespace autopilot::workloads::compare
