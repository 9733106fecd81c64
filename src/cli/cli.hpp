// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace autopilot::cli {

// Exit codes of every verb.
inline constexpr int kExitHealthy = 0;
inline constexpr int kExitDegraded = 1;
inline constexpr int kExitFailed = 2;
inline constexpr int kExitUnknown = 3;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitInternal = 70;
inline constexpr int kExitConfiguration = 78;

// Runs the verb that the arguments name; returns the exit code.
[[nodiscard]] int run(int argc, char** argv);

}  // namespace autopilot::cli
