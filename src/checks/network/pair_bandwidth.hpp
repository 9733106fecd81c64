// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "checks/check.hpp"

// What tests of nodes in pairs found, by whatever the pairs were measured.
namespace autopilot::checks {

// An active check of them. id: "network.bandwidth"; of its thresholds there is <id>.confidence.
[[nodiscard]] CheckInfo pair_bandwidth_info(std::string_view id, std::string title);
// Judges who is suspect and where nothing arrives. Pure.
[[nodiscard]] Findings judge_pair_bandwidth(const JudgeInput& input, std::string_view id);

}  // namespace autopilot::checks
