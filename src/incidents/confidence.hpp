// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/finding.hpp"
#include "incidents/finding_tracker.hpp"

namespace autopilot::incidents {

// Probability that the subject of the finding is at fault, 0..1: from the evidence "confidence", else from
// the catalog's reason.
[[nodiscard]] double confidence_of(const Finding& finding, const ReasonLookup& reasons);

}  // namespace autopilot::incidents
