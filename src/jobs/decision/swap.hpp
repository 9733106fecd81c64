// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "core/clock.hpp"
#include "jobs/findings.hpp"

// When the second half of a swap at a checkpoint is due. Pure.
namespace autopilot::jobs {

enum class SwapTurn : std::uint8_t { wait, move, give_up };

struct SwapState {
  SwapTurn turn = SwapTurn::wait;
  std::string why;  // one sentence for a person; empty: it waits
};

// begun: when the node was held and the checkpoint requested. The pods move after the end of a checkpoint
// that was seen since then. If the job reported checkpoints before, they also move when its steps have gone
// on for longer than the known interval and a margin. Without a checkpoint, the deadline is two intervals and
// the margin, at least 30 min and at most 12 h; two hours and ten minutes without a known interval. If the
// pods still did not move, it is 12 h.
[[nodiscard]] SwapState state_of_swap(WallTime begun, const JobState& job, WallTime now);

}  // namespace autopilot::jobs
