// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/decision/signal_weights.hpp"
#include "jobs/detectors/events.hpp"
#include "jobs/fleet.hpp"
#include "jobs/membership.hpp"
#include "jobs/progress.hpp"
#include "jobs/records.hpp"

namespace autopilot::jobs {

// What the parts of the engine read of one job, for the time of a call.
struct JobContext {
  const JobRecord& record;
  const Membership& members;
  const Fleet& fleet;
  const EventMemory& events;
  const Progress& progress;
  const SignalWeights* weights = nullptr;  // null: the values that ship
};

}  // namespace autopilot::jobs
