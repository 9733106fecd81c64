// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/check_result.hpp"
#include "core/operation.hpp"

namespace autopilot::cli {

// True if the deadline or a request stopped it.
[[nodiscard]] bool was_ended(const Operation& operation);

// True if the result contains observations of this diagnostic, not only of an earlier one.
[[nodiscard]] bool tells_of(const Operation& operation, const CheckResult& result);

// True if the check ran after the diagnostic left its results. A run that overlaps the stop of a diagnostic
// may have missed them.
[[nodiscard]] bool has_judged(const Operation& operation, const CheckResult& result);

}  // namespace autopilot::cli
