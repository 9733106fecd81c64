// SPDX-License-Identifier: Apache-2.0
#include "kube/base64.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace autopilot::kube {

namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoLetter = 0xff;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoLetter);
  for (std::size_t i = 0; i < kLetters.size(); ++i)
    values[static_cast<unsigned char>(kLetters[i])] = static_cast<std::uint8_t>(i);
  return values;
}

constexpr auto kValues = make_values();

std::uint8_t digit_value(char letter) {
  return kValues[static_cast<unsigned char>(letter)];
}

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto part = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i)
      bits = (bits << 8U) | (i < part.size() ? static_cast<unsigned char>(part[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= part.size() ? kLetters[(bits >> (18 - 6 * i)) & 0x3fU] : '=';
  }
  return text;
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  std::size_t letters = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::uint8_t value = digit_value(c);
    if (value == kNoLetter || padding > 0) return std::nullopt;
    bits = (bits << 6U) | value;
    ++letters;
    if (letters % 4 == 1) continue;
    const std::size_t left = 6 - 2 * ((letters - 1) % 4);  // bits that belong to the next byte
    bytes += static_cast<char>((bits >> left) & 0xffU);
    bits &= (1U << left) - 1U;
  }
  const std::size_t missing = (4 - letters % 4) % 4;
  if (padding != missing || missing == 3 || bits != 0) return std::nullopt;
  return bytes;
}

}  // namespace autopilot::kube
