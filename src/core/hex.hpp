// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace autopilot {

// Two digits, in lower case, for each byte: "0d04ff".
[[nodiscard]] std::string to_hex(std::string_view bytes);
// Takes capitals as well; nothing where anything else than pairs of digits stands there.
[[nodiscard]] std::optional<std::string> from_hex(std::string_view digits);

}  // namespace autopilot
