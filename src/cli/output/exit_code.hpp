// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/health.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

// 0 healthy, 1 degraded, 2 failed, 3 unknown.
[[nodiscard]] int exit_code_of(Health health);
// From the node's health; strict: 3 also if any check could not run.
[[nodiscard]] int exit_code_of(const NodeSnapshot& snapshot, bool strict);

}  // namespace autopilot::cli
