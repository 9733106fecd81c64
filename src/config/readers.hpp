// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/setting.hpp"
#include "core/clock.hpp"
#include "core/yaml.hpp"

// Read the value of a setting. An invalid value becomes a problem with its location, and `into` stays
// unchanged, as for a missing key.
namespace autopilot::config {

// True for a valid value.
using Accept = bool (*)(std::string_view);

void refuse(YamlMap& map, const SettingHead& setting, const std::string& expected, const std::string& found);
void read_word(YamlMap& map, const SettingHead& setting, Accept accept, std::string& into);
// At most 1000 values, each accepted by `accept`.
void read_words(YamlMap& map, const SettingHead& setting, Accept accept, std::vector<std::string>& into);
void read_flag(YamlMap& map, const SettingHead& setting, bool& into);
// name: for the problem.
void read_duration(YamlMap& map, std::string_view key, const std::string& name, Duration low, Duration high,
                   Duration& into);
void read_size(YamlMap& map, const SettingHead& setting, std::uint64_t low, std::uint64_t high,
               std::uint64_t& into);

template <class Number>
void read_integer(YamlMap& map, const SettingHead& setting, std::int64_t low, std::int64_t high,
                  Number& into) {
  const auto value = map.integer(setting.key());
  if (!value) return;
  if (*value < low || *value > high)
    refuse(map, setting, std::to_string(low) + " to " + std::to_string(high), std::to_string(*value));
  else
    into = static_cast<Number>(*value);
}

// "[a, b]", as in a file.
[[nodiscard]] std::string join(const std::vector<std::string>& words);

}  // namespace autopilot::config
