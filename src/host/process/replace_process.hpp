// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"

namespace autopilot::host {

// This process becomes that program, found in PATH, with its environment, streams and terminal. Comes back
// only when it could not. not_found: there is no such program. One thread may be running.
[[nodiscard]] Error replace_process(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace autopilot::host
