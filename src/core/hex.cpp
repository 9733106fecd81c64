// SPDX-License-Identifier: Apache-2.0
#include "core/hex.hpp"

#include <cstdint>

#include "core/parse.hpp"

namespace autopilot {

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

std::optional<std::string> from_hex(std::string_view digits) {
  std::string bytes;
  for (; digits.size() >= 2; digits.remove_prefix(2)) {
    const auto byte = parse_number<std::uint8_t>(digits.substr(0, 2), 16);
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return digits.empty() ? std::optional(bytes) : std::nullopt;
}

}  // namespace autopilot
