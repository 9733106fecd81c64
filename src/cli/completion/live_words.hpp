// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/completion/candidates.hpp"

namespace autopilot::cli {

// Asks the agent that the words name with --socket, or the agent that a verb would ask, and autopilot-sim.
// Prints nothing. An agent that does not answer takes 0.3 s in all.
[[nodiscard]] LiveWords live_words(const std::vector<std::string>& words);

}  // namespace autopilot::cli
