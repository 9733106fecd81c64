// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace autopilot::host::testing {

// For tests: the binary form of protobuf.
inline std::string varint(std::uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7U)
    bytes += static_cast<char>(number | 0x80U);
  return bytes + static_cast<char>(number);
}

inline std::string number_field(std::uint32_t number, std::uint64_t value) {
  return varint(number << 3U) + varint(value);
}

inline std::string bytes_field(std::uint32_t number, std::string_view bytes) {
  return varint(number << 3U | 2U) + varint(bytes.size()) + std::string(bytes);
}

}  // namespace autopilot::host::testing
