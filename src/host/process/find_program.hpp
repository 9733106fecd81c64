// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::host {

// Where a program is that somebody named: itself when it is a path, else the first that may be started in the
// folders of the PATH of `environment` ("NAME=value"). not_found. A minimal image has no env(1) to ask.
[[nodiscard]] Result<std::string> find_program(std::string_view name,
                                               std::span<const std::string> environment);

}  // namespace autopilot::host
