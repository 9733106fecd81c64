// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "learning/hazard/episodes.hpp"
#include "learning/hazard/hazard_model.hpp"

namespace autopilot::learning {

// How many times more nodes fail than the model predicts: (20 + nodes that failed) / (20 + nodes predicted to
// fail), over the weeks until `day`, with a half-life of 60 days. It follows bursts and slow drifts of the
// whole fleet, and keeps the hazard calibrated after the fit. Uses nothing after `day`. Greater than 0; 1 at
// day 0.
[[nodiscard]] double fleet_level(const HazardModel& model, const FleetHistory& fleet, double day);

}  // namespace autopilot::learning
