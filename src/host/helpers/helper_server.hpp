// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::host {

// The descriptor on which a helper started by HelperClient finds its agent.
inline constexpr int kHelperFd = 3;

// params and result are JSON text. May block for ever: then the agent kills the process.
using HelperMethod = std::function<Result<std::string>(std::string_view params, MonoTime deadline)>;
using HelperMethods = std::map<std::string, HelperMethod, std::less<>>;

// Answers one request after the other until the other end closes; returns the exit code of the process. When
// the agent dies the process ends at once, also in the middle of a method that hangs in user space.
[[nodiscard]] int serve(int fd, const HelperMethods& methods);

}  // namespace autopilot::host
