// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace autopilot {

// The beginning of valid UTF-8, at most that many bytes, cut between two characters.
[[nodiscard]] constexpr std::string_view cut_utf8(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
    --bytes;
  return text.substr(0, bytes);
}

}  // namespace autopilot
