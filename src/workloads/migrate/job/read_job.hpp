// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/migrate/job/job.hpp"
#include "workloads/migrate/job/options.hpp"
#include "workloads/migrate/script/findings.hpp"

namespace autopilot::workloads::migrate {

struct ReadSettings {
  std::optional<std::uint64_t> lsf_unit;  // bytes; of numbers without a unit (LSF_UNIT_FOR_LIMITS)
};

struct ReadJob {
  Job job;
  std::vector<DirectiveRow> rows;  // in the order of the options
};

// The job that the options request. Later options replace earlier ones (options of the submit command come
// last); -R of LSF adds up. A value that cannot be read is a finding and leaves the job unchanged.
[[nodiscard]] ReadJob read_job(const std::vector<GivenOption>& options, Scheduler scheduler,
                               std::size_t parts, const ReadSettings& settings, Findings& findings);

}  // namespace autopilot::workloads::migrate
