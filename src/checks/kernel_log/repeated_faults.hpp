// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/observation.hpp"

namespace autopilot::checks {

// The same program fault at the same place of one GPU in different processes: the program changed, the fault
// stayed.
struct RepeatedFault {
  Subject gpu;
  std::uint32_t code = 0;  // 13 or 31
  // The unit that the line names; a page fault names none that counts.
  std::optional<int> gpc;
  std::optional<int> tpc;
  bool injected = false;
  std::map<std::string, std::string> processes;  // at least two: pid -> a name it had
  const Observation* second = nullptr;           // of the first fault in another process
  const Observation* last = nullptr;

  // "4711 (python3), 5822 (serve)"; beyond eight only how many more.
  [[nodiscard]] std::string named() const;
};

// `records`: Xid events that may act, oldest first; the result points into them. Left out are faults of a
// program that had the same on another GPU as well (they follow the program), and those within 30 s after an
// error of the hardware of the same GPU, whose consequence they are. A process is its pid, since the records
// are of one boot: its threads have names of their own, and two processes may share one. A program on several
// GPUs is a name or a pid, since a job has a process on each.
[[nodiscard]] std::vector<RepeatedFault> repeated_faults(std::span<const Observation* const> records);

}  // namespace autopilot::checks
