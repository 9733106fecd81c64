// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/fleet_level.hpp"

#include <algorithm>
#include <cmath>

namespace autopilot::learning {
namespace {

// Chosen by time splits of the first half of the StepFun trace: half-lives of 30 to 120 days and 10 to 30
// prior faults differ by less than 0.1 in the ratio of expected to observed faults.
constexpr double kLevelHalfLifeDays = 60;
constexpr double kPriorNodes = 20;
constexpr double kWeekDays = 7;

// Nodes in service at the begin of a week, that the model predicts to fail in it and that do.
struct WeekOfFleet {
  double predicted = 0;
  double failed = 0;
};

WeekOfFleet week_of(const HazardModel& model, const FleetHistory& fleet, double begin, double end) {
  WeekOfFleet week;
  week.predicted = static_cast<double>(fleet.without_fault) *
                   probability_of_fault(expected_faults_without_return(model, begin, end));
  for (const NodeHistory& node : fleet.nodes) {
    if (!is_in_service(node, begin)) continue;
    week.predicted += probability_of_fault(expected_faults(model, node, begin, end));
    if (begins_between(node, begin, end) > 0) week.failed += 1;
  }
  return week;
}

}  // namespace

double fleet_level(const HazardModel& model, const FleetHistory& fleet, double day) {
  double failed = kPriorNodes;
  double predicted = kPriorNodes;
  for (double end = day; end > 0; end -= kWeekDays) {
    const double begin = std::max(0.0, end - kWeekDays);
    const double weight = std::exp2(-(day - begin) / kLevelHalfLifeDays);
    const WeekOfFleet week = week_of(model, fleet, begin, end);
    failed += weight * week.failed;
    predicted += weight * week.predicted;
  }
  return failed / predicted;
}

}  // namespace autopilot::learning
