// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace autopilot {

// A JSON document after a patch (RFC 6902), as an API server applies it: add, remove, replace and move.
// Nothing where one of them is no JSON or the patch does not fit.
[[nodiscard]] std::optional<std::string> apply_json_patch(std::string_view document, std::string_view patch);

}  // namespace autopilot
