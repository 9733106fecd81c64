// SPDX-License-Identifier: Apache-2.0

#include "nettest/run/observation_writer.hpp"

#include <numeric>

namespace autopilot::nettest {

std::vector<double> means_of(std::vector<double> samples, std::size_t most) {
  if (samples.size() <= most) return samples;
  std::vector<double> means;
  for (std::size_t i = 0; i < most; ++i) {
    const auto first = samples.begin() + static_cast<std::ptrdiff_t>(i * samples.size() / most);
    const auto last = samples.begin() + static_cast<std::ptrdiff_t>((i + 1) * samples.size() / most);
    means.push_back(std::accumulate(first, last, 0.0) / static_cast<double>(last - first));
  }
  return means;
}

}  // namespace autopilot::nettest
