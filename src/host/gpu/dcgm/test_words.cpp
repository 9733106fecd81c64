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

bool is_excused(std::optional<std::int64_t> error, std::string_view warning,
                std::span<const DcgmExcuse> excuses) {
  if (!error) return false;
  const auto known = std::ranges::find(excuses, *error, &DcgmExcuse::error);
  if (known == excuses.end()) return false;
  return warning.empty() || to_lower(warning).find(known->says) != std::string::npos;
}

std::string format_excuses(std::span<const DcgmExcuse> excuses) {
  std::string text;
  for (const DcgmExcuse& excuse : excuses) {
    text += (text.empty() ? "" : ",") + std::to_string(excuse.error);
    if (!excuse.says.empty()) text += ":" + excuse.says;
  }
  return text;
}

Result<std::vector<DcgmExcuse>> parse_excuses(std::string_view text) {
  std::vector<DcgmExcuse> excuses;
  if (text.empty()) return excuses;
  for (const std::string_view part : split(text, ',')) {
    const std::string_view number = part.substr(0, part.find(':'));
    const auto error = parse_number<std::int64_t>(number);
    if (!error) return fail(Errc::malformed, "no number of an error: " + std::string(part));
    excuses.push_back(
        {*error, number.size() == part.size() ? "" : std::string(part.substr(number.size() + 1))});
  }
  return excuses;
}

bool is_fatal_test(std::string_view word, std::span<const std::string> fatal) {
  const std::string_view known = word == "memory" ? "gpu_memory" : word;
  return std::ranges::any_of(fatal, [known](const std::string& name) {
    const std::string part = test_word(name);
    return !part.empty() && known.find(part) != std::string_view::npos;
  });
}

}  // namespace autopilot::host
