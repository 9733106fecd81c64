// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/output/section.hpp"
#include "workloads/compare/comparison.hpp"

// The parts of a comparison, for every form that people read.
namespace autopilot::cli {

// "A (satori) and B (openshift): not comparable"
[[nodiscard]] std::string compare_heading(const workloads::compare::Comparison& comparison);

// Comparability first, then the dimensions, the remarks, the claims, the costs, all series, and the files.
[[nodiscard]] std::vector<Section> compare_sections(const workloads::compare::Comparison& comparison);

// Significant digits with which the values of both sides differ.
[[nodiscard]] int figure_digits(const workloads::compare::Figure& figure);

// "12.5 (0.31 to 24)": difference b - a with its bounds; empty if a side is missing.
[[nodiscard]] std::string difference_text(const workloads::compare::Figure& figure);

}  // namespace autopilot::cli
