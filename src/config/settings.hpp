// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "core/yaml.hpp"

namespace autopilot::config {

// Setting -> value as text. A setting that holds several ("checks") shows each under its own name.
using Shown = std::map<std::string, std::string>;

// One row of THE table of settings: file, environment, live reload and docs/configuration.md are made from
// it.
struct Setting {
  std::string_view name;  // "limits.lanes": a group of the file and a key in it
  std::string_view form;  // what a value looks like
  bool is_live = false;   // takes effect without a restart
  bool has_variable = false;
  std::string_view meaning;
  // Reads the key from its group into the configuration; a bad value becomes a problem of the map.
  void (*read)(YamlMap& group, const Setting& setting, Config& config);
  void (*show)(const Config& config, const Setting& setting, Shown& shown);

  [[nodiscard]] std::string_view group() const;  // "" for a key at the top of the file
  [[nodiscard]] std::string_view key() const;
  [[nodiscard]] std::string variable() const;  // "AUTOPILOT_LISTEN"
};

// In the order of the documentation.
[[nodiscard]] std::span<const Setting> settings();

// docs/configuration.md.
[[nodiscard]] std::string settings_page();

}  // namespace autopilot::config
