// SPDX-License-Identifier: Apache-2.0
#include "host/gpu/dcgm/test_words.hpp"

#include <algorithm>

#include "core/parse.hpp"

namespace autopilot::host {

std::string test_word(std::string_view name) {
  std::string word = to_lower(trim(name));
  std::ranges::replace_if(
      word, [](char c) { return c == '/' || c == '|' || c == ' ' || c == '\t'; }, '_');
  return word;
}

bool is_fatal_test(std::string_view word, std::span<const std::string> fatal) {
  const std::string_view known = word == "memory" ? "gpu_memory" : word;
  return std::ranges::any_of(fatal, [known](const std::string& name) {
    const std::string part = test_word(name);
    return !part.empty() && known.find(part) != std::string_view::npos;
  });
}

}  // namespace autopilot::host
