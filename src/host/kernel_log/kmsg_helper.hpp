// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "host/kernel_log/record_source.hpp"

namespace autopilot::host {

using OpenRecordSource = std::function<Result<std::unique_ptr<RecordSource>>()>;

// Gives one agent, at the other end of `fd`, the records of a log that is opened when it asks for it. Returns
// the exit code of the process.
[[nodiscard]] int run_kmsg_helper(int fd, const OpenRecordSource& open);
// `autopilot helper kmsg --listen PATH [--allow-uid UID]...`: the log of this machine, for agents that may
// not read it.
[[nodiscard]] int run_kmsg_helper_verb(const std::vector<std::string>& arguments);

}  // namespace autopilot::host
