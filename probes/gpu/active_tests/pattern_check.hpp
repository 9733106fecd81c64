// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/gpu/driver/session.hpp"

namespace autopilot::probes::gpu {

// Corrupts the first word of `memory` and runs the compare kernel: a GPU that runs no kernel finds no wrong
// word either. `result` must have room for a PatternResult. unavailable: the word was not found.
[[nodiscard]] Status find_a_planted_word(Session& session, const Buffer& memory, const Buffer& result);

}  // namespace autopilot::probes::gpu
