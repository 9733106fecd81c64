// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace autopilot::cli {

// Shared by the verbs that run until SIGTERM: agent and controller.

// Values as in the settings `log_level` and `log_format`.
void set_log(const std::string& level, const std::string& format);
// Changes when the file is replaced or rewritten; empty: no such file.
[[nodiscard]] std::string version_of_file(const std::string& path);
// Problem with a listen address given as a flag; empty: valid.
[[nodiscard]] std::string listen_problem(const std::string& text);

}  // namespace autopilot::cli
