// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/yaml.hpp"

namespace autopilot::config {

// Setting -> value as text. A setting that holds several ("checks") shows each under its own name.
using Shown = std::map<std::string, std::string>;

// What people are told of a setting.
struct SettingHead {
  std::string_view name;  // "limits.lanes": a group of the file and a key in it
  std::string_view form;  // what a value looks like
  bool is_live = false;   // takes effect without a restart
  bool has_variable = false;
  std::string_view meaning;

  [[nodiscard]] std::string_view group() const;  // "" for a key at the top of the file
  [[nodiscard]] std::string_view key() const;
  [[nodiscard]] std::string variable() const;  // "AUTOPILOT_LISTEN"
};

// How a row says when its setting takes effect, and whether a variable of the environment holds it as well.
inline constexpr bool kLive = true;
inline constexpr bool kAtStart = false;
inline constexpr bool kVariable = true;
inline constexpr bool kNoVariable = false;

// One row of the table of settings of a document: its file, live reload and page are made from it.
template <class Document>
struct SettingRow : SettingHead {
  // Reads the key from its group into the document; a bad value becomes a problem of the map.
  using Read = void (*)(YamlMap& group, const SettingRow& setting, Document& document);
  using Show = void (*)(const Document& document, const SettingRow& setting, Shown& shown);

  constexpr SettingRow(std::string_view full_name, std::string_view looks, bool live, bool by_variable,
                       std::string_view means, Read reading, Show showing)
      : SettingHead{full_name, looks, live, by_variable, means}, read(reading), show(showing) {}

  Read read;
  Show show;
};

}  // namespace autopilot::config
