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

// A GPU got a wrong sum.
struct WrongSum {
  std::string text;              // the first place of this process; where only others did, which rank
  std::optional<int> rank;       // the first one of all that is known; nothing where it may be any of several
  std::optional<int> last = {};  // likewise the last one, once the ranks have agreed on it
};

// Who is told what comes out before the end.
struct AllReduceListener {
  std::function<void(double)> on_begin;           // the time that was agreed on, in seconds
  std::function<void(const WrongSum&)> on_wrong;  // at once, and again when more is known of it
};

// Measures the all-reduce of all ranks; each of them must call it. Every rank sends the same number
// throughout, its own, so that there is one right sum. The ranks agree on the size, which is that of the
// smallest buffer or what a slow network carries in a quarter of a second, on the time, which is the longest
// that one of them wants, and on every further batch: so all make the same calls. A wrong sum does not end
// the measurement, because the others would wait. Errc::malformed: what they agree on cannot be; the listener
// is told that it is a wrong sum.
[[nodiscard]] Result<AllReduceFigures> measure_all_reduce(Communicator& communicator, std::span<Lane> lanes,
                                                          int first_rank, double seconds,
                                                          const AllReduceListener& listener);

}  // namespace autopilot::probes::gpu
