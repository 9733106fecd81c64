// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

namespace autopilot {

// The external name of each value of an enumeration.
template <class E, std::size_t N>
using WordTable = std::array<std::pair<E, std::string_view>, N>;

// Empty for a value outside the enumeration.
template <class E, std::size_t N>
[[nodiscard]] constexpr std::string_view word_of(const WordTable<E, N>& table, E value) {
  for (const auto& [known, word] : table)
    if (known == value) return word;
  return {};
}

template <class E, std::size_t N>
[[nodiscard]] constexpr std::optional<E> value_of(const WordTable<E, N>& table, std::string_view word) {
  for (const auto& [value, known] : table)
    if (known == word) return value;
  return std::nullopt;
}

}  // namespace autopilot
