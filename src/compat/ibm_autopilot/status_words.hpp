// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autopilot::compat::ibm_autopilot {

// What a reply says of its node, as the line "Node Status:" and the summary show it: one word for each line
// with FAIL or ABORT and the tag of a check, in their order, repeated where they repeat; {"OK"} without any.
[[nodiscard]] std::vector<std::string> status_words(std::string_view reply);

// A text that may stand beside FAIL or ABORT and is not taken for the word of a check.
[[nodiscard]] std::string without_tags(const std::string& text);

}  // namespace autopilot::compat::ibm_autopilot
