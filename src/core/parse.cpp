// SPDX-License-Identifier: Apache-2.0

#include "core/parse.hpp"

#include <algorithm>
#include <string>

namespace autopilot {

namespace {
constexpr std::string_view kBlanks = " \t\r\n\v\f";

// Length in bytes of the UTF-8 sequence at the front of `text`; 0 if it is invalid (including overlong forms
// and surrogates).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const auto continues = [&byte](std::size_t at) { return (byte(at) & 0xc0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f)) return 0;
    return continues(1) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if ((lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f)) return 0;
    return continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

bool is_printable_byte(char c) {
  return c >= ' ' && c <= '~';
}

}  // namespace

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const auto first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return words;
    text.remove_prefix(first);
    const auto end = text.find_first_of(kBlanks);
    words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end);
  }
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, is_printable_byte);
}

std::string to_printable(std::string_view text, std::size_t longest) {
  std::string printable(text.substr(0, longest));
  std::ranges::replace_if(
      printable, [](char c) { return !is_printable_byte(c); }, '?');
  return printable;
}

std::string to_utf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    valid += length == 0 ? std::string_view("\xef\xbf\xbd") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

Result<std::vector<int>> parse_id_list(std::string_view text) {
  std::vector<int> ids;
  if (trim(text).empty()) return ids;
  for (const std::string_view part : split(trim(text), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_number<int>(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number<int>(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first)
      return fail(Errc::malformed, "`" + std::string(part) + "` is not an id or a range of ids");
    if (ids.size() + static_cast<std::size_t>(*last - *first) >= kMaxIdsInList)
      return fail(Errc::exhausted, "the list has more than " + std::to_string(kMaxIdsInList) + " ids");
    for (int id = *first; id <= *last; ++id)
      ids.push_back(id);
  }
  return ids;
}

}  // namespace autopilot
