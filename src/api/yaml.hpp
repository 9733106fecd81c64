// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::api {

// The same document in YAML's block style, for people. Words that YAML would read as something else are
// quoted. malformed when `text` is no JSON.
[[nodiscard]] Result<std::string> json_to_yaml(std::string_view text);

}  // namespace autopilot::api
