// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/job_batch.hpp"
#include "jobs/brain.hpp"

namespace autopilot::job_hub {

// The jobs that are suspected to hang, by their nodes, which capture evidence then. Pure; one owner.
class Suspects {
 public:
  static constexpr std::size_t kMostJobs = 1024;  // further ones are left out until there is room

  // changed: reports since the last call, as of now.
  void note(const std::vector<jobs::JobReport>& changed);
  void clear() { jobs_.clear(); }
  // At most api::JobBatchAnswer::kMostSuspected.
  [[nodiscard]] std::vector<api::SuspectedJob> of(const std::string& node) const;

 private:
  struct Suspect {
    std::vector<api::SuspectedJob> reasons;
    std::set<std::string> nodes;
  };
  std::map<std::string, Suspect> jobs_;  // by key
};

// For each open finding that the job hangs; without one, for a job that is stalled. Empty: it is not
// suspected.
[[nodiscard]] std::vector<api::SuspectedJob> suspicions_of(const jobs::JobReport& report);

}  // namespace autopilot::job_hub
