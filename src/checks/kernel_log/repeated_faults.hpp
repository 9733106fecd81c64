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

// The same program error in the same place of one GPU, in different processes: the program changed, the fault
// remained. The catalog defines the place of each error (Xid::recurs_at).
struct RepeatedFault {
  Subject gpu;
  std::uint32_t code = 0;
  // The unit that the line names; nullopt if the place is the GPU.
  std::optional<int> gpc;
  std::optional<int> tpc;
  bool injected = false;
  std::map<std::string, std::string> processes;  // at least two: pid -> a name of it
  const Observation* second = nullptr;           // the first fault in another process
  const Observation* last = nullptr;

  // "4711 (python3), 5822 (serve)"; beyond eight only their number.
  [[nodiscard]] std::string named() const;
};

// `records`: Xid events that may act, oldest first; the result points into them. Excluded:
// - faults that follow the program: the same process had the error on another GPU, or a process with the same
// name within 30 s, since a job has one process for each GPU and starts them under one name;
// - faults within 30 s after a hardware error of the same GPU, because they are its consequences.
// A process is identified by its pid, since the records are from one boot: its threads have other names, and
// two processes may have the same name.
[[nodiscard]] std::vector<RepeatedFault> repeated_faults(const catalog::Catalog& facts,
                                                         std::span<const Observation* const> records);

}  // namespace autopilot::checks
