// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace autopilot {

// A JSON document after a patch (RFC 6902), as an API server applies it: add, remove, replace and move.
// nullopt if one of them is not valid JSON, or if the patch does not apply.
[[nodiscard]] std::optional<std::string> apply_json_patch(std::string_view document, std::string_view patch);

}  // namespace autopilot
