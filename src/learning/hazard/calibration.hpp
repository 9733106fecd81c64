// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "learning/hazard/episodes.hpp"
#include "learning/hazard/hazard_model.hpp"
#include "learning/hazard/node_draws.hpp"

namespace autopilot::learning {

// A tenth of the predictions, by their probability.
struct CalibrationGroup {
  double nodes = 0;   // predictions in it
  double lowest = 0;  // probability
  double highest = 0;
  double expected = 0;  // nodes with a fault
  double observed = 0;
};

// The predicted probability of a fault within `horizon_days`, against what happened.
struct Calibration {
  double horizon_days = 7;
  std::size_t predictions = 0;
  double expected = 0;  // nodes with a fault
  double observed = 0;
  BootstrapInterval ratio;               // expected / observed; 0 if nothing was observed
  std::vector<CalibrationGroup> tenths;  // the lowest probability first
};

// Predicts for all nodes in service every `horizon_days` from `from_day`, so that predictions do not overlap,
// with the level of the fleet on that day.
[[nodiscard]] Calibration calibrate(const FleetHistory& fleet, const HazardModel& model, double horizon_days,
                                    double from_day, double to_day, std::size_t draws, std::uint64_t seed);

}  // namespace autopilot::learning
