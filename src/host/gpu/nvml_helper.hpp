// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace autopilot::host {

// `autopilot helper nvml [--library PATH]`: asks the driver's library for HelperGpus. The calls are made in a
// thread of their own: while one hangs, the answer is a report of an unresponsive driver that names the call.
// After half a minute there is no answer at all, so that the agent ends the process. Returns the exit code
// of the process.
[[nodiscard]] int run_nvml_helper(int fd, const std::vector<std::string>& arguments);

}  // namespace autopilot::host
