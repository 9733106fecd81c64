// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "checks/check.hpp"
#include "core/result.hpp"
#include "runtime/runtime.hpp"
#include "store/journal.hpp"

namespace autopilot::agent {

// What the journal knows that the runtime needs at its start.
[[nodiscard]] Result<runtime::Remembered> recall(const store::Journal& journal, const std::string& boot_id,
                                                 std::span<const checks::Check> checks);

}  // namespace autopilot::agent
