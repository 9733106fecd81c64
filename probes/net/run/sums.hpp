// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "probes/net/iperf/result.hpp"

namespace autopilot::probes::net {

// Sum of tests that ran at the same time in the same direction: rates and retransmits. nullopt if one of them
// was not measured, because the sum would be incomplete; retransmits are missing if one side does not report
// them. Sample k is the sum of all samples k, as many as all tests have.
[[nodiscard]] std::optional<OneWay> sum_of(std::span<const std::optional<OneWay>> ways);

// Drops samples shorter than half of the requested duration: a test can end with a rest of some milliseconds.
[[nodiscard]] std::vector<Sample> whole_samples(const std::vector<Sample>& samples, double sample_seconds);

}  // namespace autopilot::probes::net
