// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "probes/net/iperf/result.hpp"

namespace autopilot::probes::net {

// Of tests that ran at the same time, the same way: bandwidths and retransmits together. Nothing where one of
// them was not measured, for without it the rest is no bandwidth; retransmits are missing where one end does
// not know. Sample k is the sum of the samples k, as many as all have.
[[nodiscard]] std::optional<OneWay> sum_of(std::span<const std::optional<OneWay>> ways);

// Without samples that are shorter than half of what was asked for: the end of a test may leave a rest of
// some milliseconds.
[[nodiscard]] std::vector<Sample> whole_samples(const std::vector<Sample>& samples, double sample_seconds);

}  // namespace autopilot::probes::net
