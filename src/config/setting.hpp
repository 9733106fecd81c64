// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "core/clock.hpp"
#include "core/yaml.hpp"

namespace autopilot::config {

// Setting -> value as text. A setting with several values ("checks") has one entry for each.
using Shown = std::map<std::string, std::string>;

// Description of a setting.
struct SettingHead {
  std::string_view name;  // "limits.lanes": a group of the file and a key in it
  std::string_view form;  // format of the value
  bool is_live = false;   // takes effect without a restart
  bool has_variable = false;
  std::string_view meaning;

  [[nodiscard]] std::string_view group() const;  // "" for a key at the top of the file
  [[nodiscard]] std::string_view key() const;
  [[nodiscard]] std::string variable() const;  // "AUTOPILOT_LISTEN"
};

// Values of a row: when its setting takes effect, and whether an environment variable sets it.
inline constexpr bool kLive = true;
inline constexpr bool kAtStart = false;
inline constexpr bool kVariable = true;
inline constexpr bool kNoVariable = false;

// One row of a document's table of settings: the file reader, live reload and documentation page use it.
template <class Document>
struct SettingRow : SettingHead {
  // Reads the key from its group into the document; an invalid value becomes a problem of the map.
  using Read = void (*)(YamlMap& group, const SettingRow& setting, Document& document);
  using Show = void (*)(const Document& document, const SettingRow& setting, Shown& shown);

  constexpr SettingRow(std::string_view full_name, std::string_view looks, bool live, bool by_variable,
                       std::string_view means, Read reading, Show showing)
      : SettingHead{full_name, looks, live, by_variable, means}, read(reading), show(showing) {}

  Read read;
  Show show;
};

// Read the value of a setting. An invalid value becomes a problem with its location, and `into` stays
// unchanged, as for a missing key.

// True for a valid value.
using Accept = bool (*)(std::string_view);

void refuse(YamlMap& map, const SettingHead& setting, const std::string& expected, const std::string& found);
void read_word(YamlMap& map, const SettingHead& setting, Accept accept, std::string& into);
// A path, a connection string of PostgreSQL, or empty. The problem quotes nothing that can be a password.
void read_place(YamlMap& map, const SettingHead& setting, std::string& into);
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

// Common functions of all settings documents, driven by their tables.

// Reads all settings below `root`; unknown keys become problems.
template <class Document>
void read_document(const YamlNode& root, std::span<const SettingRow<Document>> rows, Document& document,
                   YamlProblems& problems) {
  YamlMap top(root, "configuration", problems);
  std::set<std::string_view> groups;
  for (const auto& row : rows) {
    if (row.group().empty())
      row.read(top, row, document);
    else
      groups.insert(row.group());
  }
  for (const std::string_view group : groups) {
    const YamlNode* node = top.map(group);
    if (node == nullptr) continue;
    YamlMap map(*node, std::string(group), problems);
    for (const auto& row : rows)
      if (row.group() == group) row.read(map, row, document);
  }
}

template <class Document>
[[nodiscard]] Shown show_all(const Document& document, std::span<const SettingRow<Document>> rows,
                             bool is_live) {
  Shown shown;
  for (const auto& row : rows)
    if (row.is_live == is_live) row.show(document, row, shown);
  return shown;
}

// Keys whose value differs; live settings first.
template <class Document>
[[nodiscard]] std::vector<Change> changes_of(const Document& old, const Document& next,
                                             std::span<const SettingRow<Document>> rows) {
  std::vector<Change> changes;
  for (const bool is_live : {true, false}) {
    const Shown before = show_all(old, rows, is_live);
    const Shown after = show_all(next, rows, is_live);
    std::set<std::string> keys;
    for (const auto& [key, value] : before)
      if (const auto at = after.find(key); at == after.end() || at->second != value) keys.insert(key);
    for (const auto& [key, value] : after)
      if (!before.contains(key)) keys.insert(key);
    for (const std::string& key : keys)
      changes.push_back({key, is_live});
  }
  return changes;
}

// "`:9443`", or "none".
template <class Document>
[[nodiscard]] std::string default_of(const SettingRow<Document>& row, const Document& defaults) {
  Shown shown;
  row.show(defaults, row, shown);
  const auto at = shown.find(std::string(row.name));
  if (at == shown.end() || at->second.empty()) return "none";
  return '`' + at->second + '`';
}

// The agent's settings, in the order of the documentation.
using Setting = SettingRow<Config>;
[[nodiscard]] std::span<const Setting> settings();

}  // namespace autopilot::config
