// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "api/job_evidence.hpp"
#include "cli/output/table.hpp"
#include "core/clock.hpp"

// `autopilot jobs evidence`. Pure.
namespace autopilot::cli {

// One row for each capture.
[[nodiscard]] std::string render_evidence_list(const std::vector<api::CapturedEvidence>& evidence,
                                               WallTime now, const TableStyle& style);
// The items of one capture, with the files to get and what is missing.
[[nodiscard]] std::string render_evidence(const api::CapturedEvidence& captured, WallTime now,
                                          const TableStyle& style);

}  // namespace autopilot::cli
