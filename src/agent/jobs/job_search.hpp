// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "collect/seen_jobs.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "jobs/records.hpp"

namespace autopilot::agent {

// Finds the jobs of this node. Used on one thread; may block as long as the backends of the machine do.
class JobSearch {
 public:
  JobSearch() = default;
  JobSearch(const JobSearch&) = delete;
  JobSearch& operator=(const JobSearch&) = delete;
  virtual ~JobSearch() = default;

  // An error: nothing could be read; jobs that were found before have not ended then.
  [[nodiscard]] virtual Result<collect::SeenJobs> look(Instant now) = 0;
  // Jobs that the last searches no longer found, each once.
  [[nodiscard]] virtual std::vector<jobs::JobEndRecord> take_ended() = 0;
};

}  // namespace autopilot::agent
