// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

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

}  // namespace autopilot::config
