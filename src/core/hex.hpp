// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace autopilot {

// Two lower-case digits for each byte: "0d04ff".
[[nodiscard]] std::string to_hex(std::string_view bytes);
// Accepts upper case as well; nullopt if the text is not pairs of hexadecimal digits.
[[nodiscard]] std::optional<std::string> from_hex(std::string_view digits);

}  // namespace autopilot
