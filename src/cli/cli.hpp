// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/exit_codes.hpp"
#include "core/health.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

// Runs the verb that the arguments name; returns the exit code.
[[nodiscard]] int run(int argc, char** argv);

// 0 healthy, 1 degraded, 2 failed, 3 unknown.
[[nodiscard]] int exit_code_of(Health health);
// From the node's health; strict: 3 also if any check could not run.
[[nodiscard]] int exit_code_of(const NodeSnapshot& snapshot, bool strict);

}  // namespace autopilot::cli
