// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace autopilot::host {

// `autopilot helper share_folder PATH`: gives a folder that belongs to the user of this process to its group
// as well, so that an agent of that group can keep its state there; everybody else is kept out. Needs no
// capability: an owner may do that. Returns the exit code; the reason of a failure is on standard error.
[[nodiscard]] int run_share_folder(const std::vector<std::string>& arguments);

}  // namespace autopilot::host
