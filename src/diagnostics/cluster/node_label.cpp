// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/node_label.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>

namespace autopilot::diagnostics {

std::uint64_t word_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string hash_digits(std::string_view text) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016" PRIx64, word_hash(text));
  return digits.data();
}

std::string node_label_value(std::string_view node) {
  constexpr std::size_t kLongest = 63;
  if (node.size() <= kLongest) return std::string(node);
  const std::string digits = hash_digits(node);
  return std::string(node.substr(0, kLongest - digits.size() - 1)) + "-" + digits;
}

}  // namespace autopilot::diagnostics
