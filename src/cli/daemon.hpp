// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace autopilot::cli {

// What the verbs that run until they are told to end have in common.

// By the words of `log_level` and `log_format`.
void set_log(const std::string& level, const std::string& format);
// Another file, or the same one written anew, looks different; empty: there is none.
[[nodiscard]] std::string version_of_file(const std::string& path);
// Of a flag with an address to listen at; empty when it can be taken.
[[nodiscard]] std::string listen_problem(const std::string& text);

}  // namespace autopilot::cli
