// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace autopilot::host {

// `autopilot helper nvml [--library PATH]`: calls the driver's library for HelperGpus. A separate thread
// makes the calls: while a call hangs, the answer is a report of an unresponsive driver that names the call.
// After 30 seconds the helper stops answering, so that the agent kills it. Returns the exit code of the
// process.
[[nodiscard]] int run_nvml_helper(int fd, const std::vector<std::string>& arguments);

}  // namespace autopilot::host
