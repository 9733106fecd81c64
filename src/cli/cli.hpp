// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/health.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

// Exit codes of every verb.
inline constexpr int kExitHealthy = 0;
inline constexpr int kExitDegraded = 1;
inline constexpr int kExitFailed = 2;
inline constexpr int kExitUnknown = 3;
inline constexpr int kExitNoCause = 4;  // of `why`: nothing explains what happened
inline constexpr int kExitUsage = 64;
inline constexpr int kExitInternal = 70;
inline constexpr int kExitConfiguration = 78;
inline constexpr int kExitInterrupted = 130;  // of `demo`: Ctrl-C ended it

// Runs the verb that the arguments name; returns the exit code.
[[nodiscard]] int run(int argc, char** argv);

// 0 healthy, 1 degraded, 2 failed, 3 unknown.
[[nodiscard]] int exit_code_of(Health health);
// From the node's health; strict: 3 also if any check could not run.
[[nodiscard]] int exit_code_of(const NodeSnapshot& snapshot, bool strict);

}  // namespace autopilot::cli
