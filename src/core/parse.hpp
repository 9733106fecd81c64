// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

#include "core/result.hpp"

namespace autopilot {

// The whole text as a number, or nullopt: no spaces, no trailing text, no default, no "inf" or "nan".
// Integers accept a base.
template <class T>
  requires std::is_integral_v<T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
  requires std::is_floating_point_v<T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// "0x1f" or "1f" in hexadecimal.
template <class T>
[[nodiscard]] std::optional<T> parse_hex(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  return parse_number<T>(text, 16);
}

[[nodiscard]] std::string_view trim(std::string_view text);
// Splits at every `separator`; an empty text gives one empty part.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
// Splits at runs of white space; has no empty parts.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view text);
// Changes ASCII letters only.
[[nodiscard]] std::string to_lower(std::string_view text);
// True for printable ASCII, including the space.
[[nodiscard]] bool is_printable(std::string_view text);
// The beginning of a text, at most `longest` bytes, with a question mark for every byte that is not
// printable.
[[nodiscard]] std::string to_printable(std::string_view text, std::size_t longest = std::string_view::npos);
// The text with every byte that is not part of valid UTF-8 replaced by U+FFFD, as JSON and terminals need.
[[nodiscard]] std::string to_utf8(std::string_view text);

// More ids than any machine has; a longer list is Errc::exhausted.
inline constexpr std::size_t kMaxIdsInList = 65536;

// Parses a list of the kernel, "0-3,8,10-11" or empty, into its ids, in the order of the text. malformed:
// other text, a negative id, or a range that ends before it begins.
[[nodiscard]] Result<std::vector<int>> parse_id_list(std::string_view text);

}  // namespace autopilot
