// SPDX-License-Identifier: Apache-2.0
#include "probes/net/run/sums.hpp"

#include <algorithm>

namespace autopilot::probes::net {
namespace {

void add_samples(OneWay& total, const OneWay& way) {
  total.samples.resize(std::min(total.samples.size(), way.samples.size()));
  for (std::size_t i = 0; i < total.samples.size(); ++i) {
    total.samples[i].bits_per_second += way.samples[i].bits_per_second;
    total.samples[i].seconds = std::max(total.samples[i].seconds, way.samples[i].seconds);
  }
}

}  // namespace

std::optional<OneWay> sum_of(std::span<const std::optional<OneWay>> ways) {
  if (ways.empty() || !ways.front()) return std::nullopt;
  OneWay total = *ways.front();
  for (const std::optional<OneWay>& way : ways.subspan(1)) {
    if (!way) return std::nullopt;
    total.sent_bits_per_second += way->sent_bits_per_second;
    total.received_bits_per_second += way->received_bits_per_second;
    if (total.retransmits && way->retransmits)
      *total.retransmits += *way->retransmits;
    else
      total.retransmits.reset();
    add_samples(total, *way);
  }
  return total;
}

std::vector<Sample> whole_samples(const std::vector<Sample>& samples, double sample_seconds) {
  std::vector<Sample> whole;
  for (const Sample& sample : samples)
    if (sample.seconds >= sample_seconds / 2) whole.push_back(sample);
  return whole;
}

}  // namespace autopilot::probes::net
