// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// GET /v1/network/plan?nodes=<name>,... of an agent: what a test of bandwidth between these nodes, or all,
// would be if it began now. Pure.
namespace autopilot::api {

inline constexpr const char* kBandwidthPlanPath = "/v1/network/plan";

struct PlannedRail {
  std::string rail;                // an interface, and its rate where that is not the same everywhere
  std::vector<std::string> nodes;  // that have it

  friend bool operator==(const PlannedRail&, const PlannedRail&) = default;
};

struct PlannedPair {
  std::string rail;
  std::string source;
  std::string destination;

  friend bool operator==(const PlannedPair&, const PlannedPair&) = default;
};

struct LeftOut {
  std::string node;
  std::string why;  // a sentence

  friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

struct BandwidthPlan {
  std::vector<PlannedRail> rails;
  std::vector<PlannedPair> pairs;  // of the first round; those after `rounds` are chosen by what these show
  std::size_t seconds = 0;         // that the first round takes when nothing goes wrong
  std::size_t rounds = 1;          // that are made whatever they show, at least 1
  std::size_t most_percent = 100;  // of the rate of a line that is taken; 100: all that it carries
  std::vector<LeftOut> left_out;
  bool simulated = false;  // the node that made it

  friend bool operator==(const BandwidthPlan&, const BandwidthPlan&) = default;
};
[[nodiscard]] std::string to_json(const BandwidthPlan& plan);
// malformed: something is missing.
[[nodiscard]] Result<BandwidthPlan> parse_bandwidth_plan(std::string_view json);

}  // namespace autopilot::api
