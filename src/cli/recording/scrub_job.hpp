// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/recording/scrubber.hpp"

namespace autopilot::cli {

// Scrubs the lines of job telemetry (docs/reference/job-telemetry.md) in the order in which they are written:
// names of nodes, switches, jobs, pods, replicas and namespaces, and what Scrubber finds in texts. Slurm jobs
// keep their number; times, values, roles and device names remain, so that the engine finds the same.
class JobScrubber {
 public:
  // One line, with or without its line end; returned without it. A text that is not a JSON object is scrubbed
  // as text.
  [[nodiscard]] std::string apply(std::string_view line);
  [[nodiscard]] ScrubCounts counts() const { return scrubber_.counts(); }

 private:
  Scrubber scrubber_;
};

}  // namespace autopilot::cli
