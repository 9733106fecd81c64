// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace autopilot::compat::ibm_autopilot {

// Status of a node from its reply, as in the line "Node Status:" and in the summary: one phrase for each line
// with FAIL or ABORT and the tag of a check, in their order, with repetitions; {"OK"} if there is none.
[[nodiscard]] std::vector<std::string> status_words(std::string_view reply);

// A text that can be beside FAIL or ABORT without matching the tag of a check.
[[nodiscard]] std::string without_tags(const std::string& text);

}  // namespace autopilot::compat::ibm_autopilot
