// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "cli/completion/candidates.hpp"

namespace autopilot::cli {

// First word of the command line with which the scripts ask for completions; the shell and the words follow.
inline constexpr std::string_view kCompleteWord = "__complete";

// The script for bash, zsh or fish: it asks the program at each Tab, so that it does not age. Empty for
// another shell.
[[nodiscard]] std::string completion_script(std::string_view shell);

// The answer to a script: one candidate a line, for zsh and fish with its description behind a tab; ":files"
// where names of files fit.
void write_completion(std::ostream& out, const CLI::App& app, const std::string& shell,
                      const std::vector<std::string>& words);

}  // namespace autopilot::cli
