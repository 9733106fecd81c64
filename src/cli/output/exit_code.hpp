// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/health.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

// 0 healthy, 1 degraded, 2 failed, 3 unknown.
[[nodiscard]] int exit_code_of(Health health);
// The node's health decides; strict: a check that could not look does too.
[[nodiscard]] int exit_code_of(const NodeSnapshot& snapshot, bool strict);

}  // namespace autopilot::cli
