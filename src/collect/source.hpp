// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "collect/seen_jobs.hpp"
#include "jobs/records.hpp"

namespace autopilot::collect {

// Something on a node that reports about its jobs: telemetry, logs, NCCL RAS, heartbeats.
class Source {
 public:
  virtual ~Source() = default;

  // Once a second while the node has a job, and once after the last one ended, with `jobs` of the last
  // search. Appends what is new. Called on one thread; must not block: slow work has a thread or a helper of
  // its own.
  virtual void poll(const SeenJobs& jobs, WallTime now, std::vector<jobs::Record>& records) = 0;

  // True: a job that ended is not reported completely, such as the last words of its ranks. The source wants
  // to be polled, although the node has no job.
  [[nodiscard]] virtual bool has_more() const { return false; }

  // Why the source misses something, for a person, each a sentence with the cure. Empty: it does not.
  [[nodiscard]] virtual std::vector<std::string> not_seen() const { return {}; }
};

}  // namespace autopilot::collect
