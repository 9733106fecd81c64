// SPDX-License-Identifier: Apache-2.0
#include "config/setting.hpp"

#include <cctype>
#include <utility>

#include "config/forms.hpp"
#include "core/database_place.hpp"

namespace autopilot::config {

std::string_view SettingHead::group() const {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
}

std::string_view SettingHead::key() const {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? name : name.substr(dot + 1);
}

std::string SettingHead::variable() const {
  std::string text = "AUTOPILOT_";
  for (const char c : name)
    text += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

namespace {

constexpr std::size_t kMaxList = 1000;

}  // namespace

void refuse(YamlMap& map, const SettingHead& setting, const std::string& expected, const std::string& found) {
  map.problem(map.line_of(setting.key()), "`" + std::string(setting.name) + "`: expected " + expected +
                                              ", found `" + found.substr(0, 80) + '`');
}

void read_word(YamlMap& map, const SettingHead& setting, Accept accept, std::string& into) {
  const auto word = map.word(setting.key());
  if (!word) return;
  if (accept(*word))
    into = *word;
  else
    refuse(map, setting, std::string(setting.form), *word);
}

void read_place(YamlMap& map, const SettingHead& setting, std::string& into) {
  const auto word = map.word(setting.key());
  if (!word) return;
  if (is_file_or_empty(*word) || is_well_formed_postgres(*word))
    into = *word;
  else
    refuse(map, setting, std::string(setting.form),
           word->find_first_of("=@:") == std::string::npos ? *word : "postgresql://...");
}

void read_words(YamlMap& map, const SettingHead& setting, Accept accept, std::vector<std::string>& into) {
  auto words = map.words(setting.key());
  if (!words) return;
  if (words->size() > kMaxList) {
    refuse(map, setting, "at most " + std::to_string(kMaxList) + " entries", std::to_string(words->size()));
    return;
  }
  for (const std::string& word : *words)
    if (!accept(word)) refuse(map, setting, std::string(setting.form), word);
  into = std::move(*words);
}

void read_flag(YamlMap& map, const SettingHead& setting, bool& into) {
  into = map.boolean(setting.key()).value_or(into);
}

void read_duration(YamlMap& map, std::string_view key, const std::string& name, Duration low, Duration high,
                   Duration& into) {
  const auto value = map.duration(key);
  if (!value) return;
  if (*value < low || *value > high)
    map.problem(map.line_of(key), "`" + name + "`: expected " + format_duration(low) + " to " +
                                      format_duration(high) + ", found `" + format_duration(*value) + '`');
  else
    into = *value;
}

void read_size(YamlMap& map, const SettingHead& setting, std::uint64_t low, std::uint64_t high,
               std::uint64_t& into) {
  const auto word = map.word(setting.key());
  if (!word) return;
  const auto size = parse_size(*word);
  if (!size || *size < low || *size > high)
    refuse(map, setting, "a size from " + format_size(low) + " to " + format_size(high), *word);
  else
    into = *size;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : ", ") + word;
  return '[' + text + ']';
}

}  // namespace autopilot::config
