// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/job_batch.hpp"
#include "collect/evidence/capture.hpp"
#include "collect/seen_jobs.hpp"
#include "core/clock.hpp"

namespace autopilot::agent {

// Decides when evidence about a job is captured: once for each finding, and once in kStalledPause for a job
// that is only stalled. Pure; one owner.
class EvidenceWatch {
 public:
  static constexpr Duration kStalledPause = std::chrono::minutes(30);
  // Captures; the oldest are forgotten. The folder of a finding is never written twice.
  static constexpr std::size_t kMostRemembered = 256;

  // False: there is no room for the request now; it comes again with the next call.
  using Start = std::function<bool(collect::EvidenceRequest request)>;

  // Only jobs with processes on this node are captured.
  void look(const std::vector<api::SuspectedJob>& suspected, const collect::SeenJobs& seen, WallTime now,
            const Start& start);

 private:
  std::map<std::string, WallTime> captured_;  // by finding, or by "job " and key
};

}  // namespace autopilot::agent
