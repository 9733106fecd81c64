// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace autopilot {

// FNV-1a, 64 bits: the same in every process, version and machine. It distinguishes texts and detects damage;
// it is not a protection against forgery.
class StableHash {
 public:
  constexpr void add(std::string_view text) {
    for (const char c : text)
      add(static_cast<unsigned char>(c));
  }
  // With a separator, so that "ab", "c" differs from "a", "bc".
  constexpr void add_part(std::string_view text) {
    constexpr unsigned char kEndOfText = 0xff;  // not a valid byte of UTF-8
    add(text);
    add(kEndOfText);
  }

  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }
  // 16 hexadecimal digits.
  [[nodiscard]] std::string hex() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string digits;
    for (int shift = 60; shift >= 0; shift -= 4)
      digits += kDigits[(value_ >> shift) & 0xfU];
    return digits;
  }

 private:
  constexpr void add(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3U; }

  std::uint64_t value_ = 0xcbf29ce484222325U;
};

[[nodiscard]] constexpr StableHash stable_hash(std::string_view text) {
  StableHash hash;
  hash.add(text);
  return hash;
}

}  // namespace autopilot
