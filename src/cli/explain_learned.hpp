// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learning/adoption/version.hpp"

namespace autopilot::cli {

// Paragraphs about the versions of a threshold that are in use or tried, as `explain` shows them; empty:
// none. Pure.
[[nodiscard]] std::vector<std::string> explain_learned(std::span<const learning::Version> versions,
                                                       std::string_view threshold);
// The same for what this machine's agent uses. A store that cannot be read becomes a paragraph with the
// cause.
[[nodiscard]] std::vector<std::string> explain_learned_here(std::string_view threshold);

}  // namespace autopilot::cli
