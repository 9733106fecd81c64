// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalog/catalog.hpp"
#include "core/observation.hpp"

namespace autopilot::checks {

// The same error of a program at the same place of one GPU in different processes: the program changed, the
// fault stayed. Which error has which place is the catalog's (Xid::recurs_at).
struct RepeatedFault {
  Subject gpu;
  std::uint32_t code = 0;
  // The unit that the line names, for an error whose place is one.
  std::optional<int> gpc;
  std::optional<int> tpc;
  bool injected = false;
  std::map<std::string, std::string> processes;  // at least two: pid -> a name it had
  const Observation* second = nullptr;           // of the first fault in another process
  const Observation* last = nullptr;

  // "4711 (python3), 5822 (serve)"; beyond eight only how many more.
  [[nodiscard]] std::string named() const;
};

// `records`: Xid events that may act, oldest first; the result points into them. Left out are
// - faults that follow the program: the same process had the same on another GPU, or one of its name had it
//   there within 30 s, since a job has a process on each GPU and starts them under one name;
// - those within 30 s after an error of the hardware of the same GPU, whose consequence they are.
// A process is its pid, since the records are of one boot: its threads have names of their own, and two
// processes may share one.
[[nodiscard]] std::vector<RepeatedFault> repeated_faults(const catalog::Catalog& facts,
                                                         std::span<const Observation* const> records);

}  // namespace autopilot::checks
