// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace autopilot {

// The known word that is nearest to a typing error: at most about a third of its letters can differ. nullopt
// if no known word is that near. For error messages.
[[nodiscard]] std::optional<std::string> nearest_word(std::string_view word,
                                                      const std::vector<std::string>& known);

// The beginning of valid UTF-8, at most that many bytes, cut between two characters.
[[nodiscard]] constexpr std::string_view cut_utf8(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
    --bytes;
  return text.substr(0, bytes);
}

// Two lower-case digits for each byte: "0d04ff".
[[nodiscard]] std::string to_hex(std::string_view bytes);
// Accepts upper case as well; nullopt if the text is not pairs of hexadecimal digits.
[[nodiscard]] std::optional<std::string> from_hex(std::string_view digits);

}  // namespace autopilot
