// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/finding.hpp"
#include "incidents/finding_tracker.hpp"

namespace autopilot::incidents {

// That the subject of the finding is at fault, 0..1: what the catalog says of the error itself (evidence
// "confidence"), else of the reason.
[[nodiscard]] double confidence_of(const Finding& finding, const ReasonLookup& reasons);

}  // namespace autopilot::incidents
