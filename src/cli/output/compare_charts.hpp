// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/compare/comparison.hpp"

// Charts of a comparison as SVG elements of a page. The same data gives the same bytes.
namespace autopilot::cli {

struct Chart {
  std::string title;
  std::string svg;  // with <title> and <desc>
};

// A chart for each metric that is worth one: panels below each other, one for each series of each file, over
// all of its time and with one scale. Where a panel has more readings than pixels, the band shows the least
// and the greatest value and the line the mean.
[[nodiscard]] std::vector<Chart> compare_charts(const workloads::compare::Comparison& comparison);

// The rules that the elements need.
[[nodiscard]] std::string_view chart_style();

}  // namespace autopilot::cli
