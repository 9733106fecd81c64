// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "collect/seen_jobs.hpp"
#include "core/clock.hpp"
#include "jobs/records.hpp"

namespace autopilot::agent {

// A job of this node, from its first process to its last one.
struct JobSpan {
  std::string job;   // key
  std::string name;  // for people
  WallTime begin{};  // when this node saw it first
  WallTime end{};
  std::vector<int> gpus;  // indexes of all GPUs that it held on this node, ascending
};

// What the searches of this node saw of each running job. A program gives its GPUs back before it ends, so
// the GPUs of all searches count. Pure.
class JobSpans {
 public:
  // Returns the jobs that were not there before.
  [[nodiscard]] std::vector<JobSpan> note(const collect::SeenJobs& seen);
  // Forgets the job. A job that was never noted has only its key and its end.
  [[nodiscard]] JobSpan end(const jobs::JobEndRecord& record);

 private:
  struct Held {
    std::string name;
    WallTime begin{};
    std::set<int> gpus;
  };
  std::map<std::string, Held> held_;  // by key; JobFinder limits how many
};

}  // namespace autopilot::agent
