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

// A GPU received a wrong sum.
struct WrongSum {
  std::string text;  // the first wrong position in this process; if only other processes have one, the rank
  std::optional<int> rank;       // the first wrong rank of all; not set if unknown
  std::optional<int> last = {};  // the last wrong rank, once the ranks have agreed on it
};

// Callbacks for results before the end.
struct AllReduceListener {
  std::function<void(double)> on_begin;           // with the agreed duration, in seconds
  std::function<void(const WrongSum&)> on_wrong;  // immediately, and again with more details
};

// Measures the all-reduce of all ranks; each of them must call it. Every rank sends one constant number of
// its own, so that there is one correct sum. The ranks agree on the size (that of the smallest buffer, or the
// amount that a slow network transfers in a quarter of a second), on the duration (the longest requested
// one), and on every further batch, so that all make the same calls. A wrong sum does not end the
// measurement, because the other ranks would wait. Errc::malformed: the agreed value is impossible; the
// listener receives it as a wrong sum.
[[nodiscard]] Result<AllReduceFigures> measure_all_reduce(Communicator& communicator, std::span<Lane> lanes,
                                                          int first_rank, double seconds,
                                                          const AllReduceListener& listener);

}  // namespace autopilot::probes::gpu
