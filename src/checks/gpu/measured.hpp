// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "checks/check.hpp"
#include "checks/judgement.hpp"

// What judges share of what a test measured of GPUs and of the links between them, as last_results gives it.
namespace autopilot::checks {

inline constexpr std::string_view kProbe = "probe";  // who measured
// Of the host: "measured"; "in_use" with `by`, where somebody's work kept the last test from running, beside
// what the test before it measured.
inline constexpr std::array<std::string_view, 2> kMeasuredOutcomes{"measured", "in_use"};

struct Measured {
  const Observation* said = nullptr;
  double value = 0;
};
// Of that name in the last round, in its order. What is no number is left to add_unusable.
[[nodiscard]] std::vector<Measured> measured(const JudgeInput& input, std::string_view name);

// Of at least one number; the upper one of two in the middle.
[[nodiscard]] double median(std::vector<double> values);
// Of those that are like `one`, without it. Nothing where these are, with it, fewer than kFewestAlike.
[[nodiscard]] std::optional<double> median_of_others(const Measured& one, const std::vector<Measured>& all,
                                                     const std::function<bool(const Measured&)>& is_alike);

// A limit that is a share, as a number of `unit`.
[[nodiscard]] Limit share_of(Limit share, double whole, std::string_view unit);

// A finding about what was measured has as evidence besides: when, and by whom.
void add_source(Finding& finding, const Observation& said);

// One finding of each subject with a number above 0 under `name`, how often a result differed from the only
// right one. `what` stands between the name of the GPU and that number: "got wrong words over its link".
// Where and how is told as the test tells it, in its attributes `where` and `detail`.
void add_wrong(const JudgeInput& input, std::string_view name, std::string_view reason, std::string_view what,
               Findings& findings);

}  // namespace autopilot::checks
