// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

// GET /v1/network/plan?nodes=<name>,... of an agent: the bandwidth test between these nodes, or all, if it
// started now. Pure.
namespace autopilot::api {

inline constexpr const char* kBandwidthPlanPath = "/v1/network/plan";

struct PlannedRail {
  std::string rail;                // an interface, with its rate if rates differ
  std::vector<std::string> nodes;  // nodes that have it

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
  std::vector<PlannedPair> pairs;  // of the first round; pairs after `rounds` depend on the results
  std::size_t seconds = 0;         // duration of the first round without failures
  std::size_t rounds = 1;          // rounds that run regardless of results, at least 1
  std::size_t most_percent = 100;  // share of the line rate that the test uses; 100: all
  std::vector<LeftOut> left_out;
  bool simulated = false;  // true if the planning node is simulated

  friend bool operator==(const BandwidthPlan&, const BandwidthPlan&) = default;
};
[[nodiscard]] std::string to_json(const BandwidthPlan& plan);
// malformed: a value is missing.
[[nodiscard]] Result<BandwidthPlan> parse_bandwidth_plan(std::string_view json);

}  // namespace autopilot::api
