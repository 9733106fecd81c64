// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/fleet_level.hpp"

#include <algorithm>
#include <cmath>

namespace autopilot::learning {
namespace {

// Chosen by time splits of the first half of the StepFun trace: half-lives of 30 to 120 days and 10 to 30
// prior faults differ by less than 0.05 in the ratio of expected to observed faults.
constexpr double kLevelHalfLifeDays = 60;
constexpr double kPriorFaults = 20;
constexpr double kCellDays = 7;

}  // namespace

double fleet_level(const HazardModel& model, const FleetHistory& fleet, double day) {
  double observed = kPriorFaults;
  double expected = kPriorFaults;
  for (double end = day; end > 0; end -= kCellDays) {
    const double begin = std::max(0.0, end - kCellDays);
    const double weight = std::exp2(-(day - (begin + end) / 2) / kLevelHalfLifeDays);
    observed += weight * static_cast<double>(begins_between(fleet, begin, end));
    expected += weight * expected_faults_in_service(model, fleet, begin, end);
  }
  return observed / expected;
}

}  // namespace autopilot::learning
