// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "config/setting.hpp"
#include "core/yaml.hpp"

// Common functions of all settings documents, driven by their tables.
namespace autopilot::config {

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

}  // namespace autopilot::config
