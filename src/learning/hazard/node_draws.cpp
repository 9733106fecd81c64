// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/node_draws.hpp"

#include <algorithm>
#include <cmath>

namespace autopilot::learning {
namespace {

// `sorted` is not empty.
double sorted_quantile(const std::vector<double>& sorted, double p) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(p * last))];
}

}  // namespace

NodeDraws::NodeDraws(std::size_t with_fault, std::size_t without_fault, std::uint64_t seed)
    : with_fault_(with_fault), without_fault_(without_fault), random_(seed) {}

NodeDraw NodeDraws::next() {
  NodeDraw draw{std::vector<double>(with_fault_), 0};
  const std::size_t size = with_fault_ + without_fault_;
  for (std::size_t i = 0; i < size; ++i) {
    // The remainder favours small numbers by less than 1e-14. The distributions of the standard library
    // differ between implementations.
    const std::size_t drawn = random_() % size;
    if (drawn < with_fault_)
      draw.nodes[drawn] += 1;
    else
      draw.without_fault += 1;
  }
  return draw;
}

NodeDraw NodeDraws::whole() const {
  return {std::vector<double>(with_fault_, 1), static_cast<double>(without_fault_)};
}

BootstrapInterval bootstrap(NodeDraws draws, std::size_t count,
                            const std::function<double(const NodeDraw&)>& statistic) {
  const double value = statistic(draws.whole());
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i)
    if (const double drawn = statistic(draws.next()); std::isfinite(drawn)) values.push_back(drawn);
  if (values.empty()) return {value, value, value};
  std::ranges::sort(values);
  constexpr double lower = 0.025;
  return {value, sorted_quantile(values, lower), sorted_quantile(values, 1 - lower)};
}

}  // namespace autopilot::learning
