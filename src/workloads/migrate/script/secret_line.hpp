// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace autopilot::workloads::migrate {

// The variable that replaces a value, by a name for it.
using NameSecret = std::function<std::string(const std::string& name, std::string_view value)>;

// A line without its secrets. `before`: the lines that it continues, without their secrets.
[[nodiscard]] std::string clean_line(std::string line, std::string_view before,
                                     const NameSecret& name_secret);

}  // namespace autopilot::workloads::migrate
