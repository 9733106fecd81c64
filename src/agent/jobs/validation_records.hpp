// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jobs/records.hpp"
#include "learning/validation_result.hpp"

namespace autopilot::agent {

// A validation of this node, for the program that evaluates the job. Of a failed one the record states what
// is wrong: what failed, and what is degraded and was not so before the job. Pure.
[[nodiscard]] jobs::ValidationRecord validation_record_of(const learning::ValidationResult& result);

}  // namespace autopilot::agent
