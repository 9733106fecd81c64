// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "api/validations.hpp"
#include "cli/output/table.hpp"
#include "core/clock.hpp"
#include "core/health.hpp"

// What `autopilot validations` prints. Texts of jobs are untrusted: control characters are replaced.
namespace autopilot::cli {

// Table of validations, the newest first.
[[nodiscard]] std::string render_validations(const api::ValidationList& list, WallTime now,
                                             const TableStyle& style);

// Sentences about the validation after a job, for a page about the job: the result, and why this depth.
[[nodiscard]] std::vector<std::string> sentences_of(const learning::ValidationResult& result);

// The worst verdict of the list, as the health of a machine; healthy if the list is empty.
[[nodiscard]] Health health_of(const api::ValidationList& list);

}  // namespace autopilot::cli
