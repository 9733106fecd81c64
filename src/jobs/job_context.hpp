// SPDX-License-Identifier: Apache-2.0
#pragma once

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
};

}  // namespace autopilot::jobs
