// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "probes/gpu/nccl/all_reduce_report.hpp"
#include "probes/gpu/nccl/communicator.hpp"
#include "probes/gpu/nccl/lane.hpp"

namespace autopilot::probes::gpu {

struct AllReduceOutcome {
  AllReduceFigures figures;
  // The first place where a GPU of this process got a wrong sum; where only others did, which rank.
  std::optional<std::string> wrong;
};

// Measures the all-reduce of all ranks; each of them must call it. Every rank sends the same number
// throughout, its own, so that there is one right sum. The ranks agree on the size, which is that of the
// smallest buffer, on the time, which is the longest that one of them wants, and on every further batch: so
// all make the same calls. `on_begin` is told the time that was agreed on. A wrong sum does not end the
// measurement, because the others would wait. Errc::malformed: what they agree on cannot be.
[[nodiscard]] Result<AllReduceOutcome> measure_all_reduce(Communicator& communicator, std::span<Lane> lanes,
                                                          int first_rank, double seconds,
                                                          const std::function<void(double)>& on_begin);

}  // namespace autopilot::probes::gpu
