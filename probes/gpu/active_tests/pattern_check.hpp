// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "probes/gpu/driver/session.hpp"

namespace autopilot::probes::gpu {

// Spoils the first word of `memory` and has the kernel that compares look at it: a GPU that runs nothing
// finds nothing wrong either. `result` has room for a PatternResult. unavailable: the word was not found.
[[nodiscard]] Status find_a_planted_word(Session& session, const Buffer& memory, const Buffer& result);

}  // namespace autopilot::probes::gpu
