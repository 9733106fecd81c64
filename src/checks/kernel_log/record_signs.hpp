// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalog/catalog.hpp"
#include "core/finding.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {

// What the driver's records of a round say beyond findings: those with a code that makes none by itself, as
// of a fault of a program. Of health `healthy`, for incidents (see is_record in core/incident.hpp). Records
// that user space wrote, and unverified ones, are left out.
[[nodiscard]] Findings signs_in(const Observations& records, const catalog::Catalog& facts);

}  // namespace autopilot::checks
