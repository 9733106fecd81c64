// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace autopilot::host {

// `autopilot helper amdgpu`: reads the files of AMD's driver for HelperGpus. Where a GPU does not answer the
// kernel holds the reader, so there is no answer until the agent ends the process. `root` is a test's.
// Returns the exit code of the process.
[[nodiscard]] int run_amdgpu_helper(int fd, const std::string& root = "");

}  // namespace autopilot::host
