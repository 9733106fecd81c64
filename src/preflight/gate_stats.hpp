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
  std::uint64_t chosen = 0;          // questions whose diagnostics the history of the node chose
  std::uint64_t chosen_all = 0;      // of these, all: after a repair, a change of the driver, 30 days
  std::uint64_t choice_failed = 0;   // all ran, because nothing could be chosen
  std::uint64_t left_out = 0;        // diagnostics that were not chosen
  std::uint64_t waiting = 0;
};

}  // namespace autopilot::preflight
