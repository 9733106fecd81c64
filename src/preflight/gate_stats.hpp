// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace autopilot::preflight {

// Counters of the pre-flight gate since the agent started; `waiting` is the present number.
struct GateStats {
  std::uint64_t passed = 0;
  std::uint64_t failed = 0;
  std::uint64_t could_not_look = 0;
  std::uint64_t refused = 0;         // too many at once
  std::uint64_t gangs_given_up = 0;  // passed pods that stopped waiting for others of their job
  std::uint64_t waiting = 0;
};

}  // namespace autopilot::preflight
