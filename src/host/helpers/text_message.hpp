// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace autopilot::host {

// Questions and answers of helpers that are one text: a string of JSON. Any bytes may stand in it.
[[nodiscard]] std::string make_text_message(std::string_view text);
// Nothing where the message is anything else.
[[nodiscard]] std::optional<std::string> text_in(std::string_view message);

}  // namespace autopilot::host
