// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/observation.hpp"

namespace autopilot::checks {

// The same program fault at the same place of one GPU in different programs: the program changed, the fault
// stayed.
struct RepeatedFault {
  Subject gpu;
  std::uint32_t code = 0;  // 13 or 31
  // The unit that the line names; a page fault names none that counts.
  std::optional<int> gpc;
  std::optional<int> tpc;
  bool injected = false;
  std::set<std::string> programs;       // at least two names
  const Observation* second = nullptr;  // of the first fault in another program
  const Observation* last = nullptr;
};

// `records`: Xid events that may act, oldest first; the result points into them. Left out are faults of a
// program that had the same on another GPU as well (they follow the program), and those within 30 s after an
// error of the hardware of the same GPU, whose consequence they are. Programs are told apart by their names:
// a program that is started again and fails again is one.
[[nodiscard]] std::vector<RepeatedFault> repeated_faults(std::span<const Observation* const> records);

}  // namespace autopilot::checks
