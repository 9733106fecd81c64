// SPDX-License-Identifier: Apache-2.0

#include "core/text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "core/parse.hpp"

namespace autopilot {

namespace {

// Longer words are not typing errors; the bound limits the cost of hostile input.
constexpr std::size_t kLongestWord = 64;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest_word(std::string_view word, const std::vector<std::string>& known) {
  if (word.empty() || word.size() > kLongestWord) return std::nullopt;
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongestWord) continue;
    const std::size_t distance = edit_distance(word, candidate);
    // Two swapped letters count as two errors.
    if (distance > (candidate.size() < 4 ? 1 : std::max<std::size_t>(2, candidate.size() / 3))) continue;
    if (best != nullptr && distance >= best_distance) continue;
    best = &candidate;
    best_distance = distance;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

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
