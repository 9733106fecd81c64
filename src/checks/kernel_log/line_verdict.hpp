// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "catalog/catalog.hpp"
#include "checks/kernel_log/decode.hpp"
#include "core/action.hpp"
#include "core/health.hpp"
#include "host/kernel_log/kernel_log.hpp"

namespace autopilot::checks {

// What `check` says of one line: the worst finding of the checks that read such lines, on a machine of which
// nothing else is known.
struct LineVerdict {
  Health health = Health::healthy;  // or degraded, failed; healthy: no finding comes of this line alone
  std::string check;                // whose finding it is; empty without one
  std::string reason;
  Action action = Action::none;
};

// Of a record that was decoded with `facts`, the catalog and perhaps rules of an operator. A line that does
// not say who wrote it counts as the kernel's; one of user space makes no finding. A check that cannot tell
// from the line alone counts as degraded: unknown is never healthy. Pure; for decode and explain, not for a
// storm.
[[nodiscard]] LineVerdict verdict_on(const host::KernelRecord& record, const DecodedRecord& decoded,
                                     const catalog::Catalog& facts);

}  // namespace autopilot::checks
