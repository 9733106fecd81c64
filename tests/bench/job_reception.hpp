// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "job_runs.hpp"

namespace autopilot::jobs::bench {

// What the same jobs cost in the controller: batches of all nodes through the receiver, the parser, the
// assembly and the brain.
struct ReceptionCost {
  std::uint64_t batches = 0;
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t refused = 0;  // by the receiver; 0 in a valid run
  std::uint64_t malformed = 0;
  std::uint64_t dropped = 0;
  std::size_t jobs = 0;       // that run at the end
  double receiver_cpu_s = 0;  // of the event loop's thread: the first line, the limits, the queue
  double brain_cpu_s = 0;     // of the brain's thread: parsing, assembly, engine
  double heap_bytes = 0;      // what receiver and brain hold at the end
};

[[nodiscard]] ReceptionCost run_reception(const ScalePlan& plan);

}  // namespace autopilot::jobs::bench
