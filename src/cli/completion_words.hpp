// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace autopilot::cli {

// What may stand behind a verb: its options, and the words that it knows.
[[nodiscard]] std::vector<std::string> completion_words(const CLI::App& verb);

}  // namespace autopilot::cli
