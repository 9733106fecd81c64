// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/result.hpp"
#include "host/process/launch.hpp"
#include "host/process/processes.hpp"

namespace autopilot::host {

// What the kernel shows of a process only to its user and with CAP_SYS_PTRACE.
struct ClosedFacts {
  Launch::Values environment;           // names of environment_names() only
  bool is_cut = false;                  // as Launch::is_cut
  std::uint64_t network_namespace = 0;  // inode; 0: unknown
};

// Reads processes that this process may not read itself. A start is in ticks since boot: another process that
// has the pid now is not read. Thread-safe. not_found: the process has ended. denied: the reader may not read
// it either. unavailable: it is blocked in the kernel, or the reader does not answer. timed_out.
class ProcessReader {
 public:
  virtual ~ProcessReader() = default;
  [[nodiscard]] virtual Result<ClosedFacts> facts(std::int64_t pid, std::uint64_t started_ticks) const = 0;
  [[nodiscard]] virtual Result<TaskIo> io(std::int64_t pid, std::uint64_t started_ticks) const = 0;
};

}  // namespace autopilot::host
