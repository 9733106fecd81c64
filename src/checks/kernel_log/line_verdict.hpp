// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "catalog/catalog.hpp"
#include "checks/kernel_log/decode.hpp"
#include "core/action.hpp"
#include "core/health.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::checks {

// The worst finding that one line causes, by the checks that read such lines, on a machine without other
// observations.
struct LineVerdict {
  Health health = Health::healthy;  // healthy, degraded or failed; healthy: this line alone causes no finding
  std::string check;                // id of the check with that finding; empty without a finding
  std::string reason;
  Action action = Action::none;
};

// `decoded` was decoded with `facts`: the catalog, and perhaps rules of an operator. A line of an unknown
// writer counts as the kernel's; a line from user space causes no finding. A check that cannot decide by the
// line alone counts as degraded: unknown is never healthy. Pure; for `decode` and `explain`, too slow for a
// storm.
[[nodiscard]] LineVerdict verdict_on(const host::KernelRecord& record, const DecodedRecord& decoded,
                                     const catalog::Catalog& facts);

}  // namespace autopilot::checks
