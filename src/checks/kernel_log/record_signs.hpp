// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalog/catalog.hpp"
#include "core/finding.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {

// What the driver's records of a round say, each for itself, for incidents: of health `healthy` those with a
// code that makes no finding, as of a fault of a program (see is_record in core/incident.hpp), the others of
// the health of the finding that counts them; and lines about the PCIe link of a GPU. Records that user space
// wrote, and unverified ones, are left out.
[[nodiscard]] Findings signs_in(const Observations& records, const catalog::Catalog& facts);

}  // namespace autopilot::checks
