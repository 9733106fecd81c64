// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::host {

// Writes the file beside its place and gives it its name, with mode 0600 and, if this process may give it
// away, the owner of its folder: a reader finds the old text or the new one, whenever this process ends.
// Durable when it returns. Errors: exhausted on a full disk, denied, not_found: the folder is missing. One
// writer at a time.
[[nodiscard]] Status replace_file(const std::string& path, std::string_view text);

}  // namespace autopilot::host
