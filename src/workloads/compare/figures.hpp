// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "workloads/compare/comparison.hpp"

namespace autopilot::workloads::compare {

// The figures of two sides without those of a cost model, ordered by dimension.
[[nodiscard]] std::vector<Figure> figures_of(const Side& a, const Side& b);

// The figure that shows work and decides, if there is one: throughput, time to a result, step time,
// bandwidth. A figure with `undecided` is returned only if no other one decides.
[[nodiscard]] const Figure* deciding_figure(const std::vector<Figure>& figures);

}  // namespace autopilot::workloads::compare
