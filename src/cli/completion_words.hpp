// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace autopilot::cli {

// Completions after a verb: its options, and for `check` and `explain` the ids of all checks.
[[nodiscard]] std::vector<std::string> completion_words(const CLI::App& verb);

}  // namespace autopilot::cli
