// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::api {

// The same document in YAML's block style, for people. Strings that YAML would read as another type are
// quoted. malformed: `text` is not JSON.
[[nodiscard]] Result<std::string> json_to_yaml(std::string_view text);

}  // namespace autopilot::api
