// SPDX-License-Identifier: Apache-2.0
#include "config/effective.hpp"

#include <span>

#include "config/setting.hpp"
#include "core/yaml.hpp"

namespace autopilot::config {
namespace {

// The line of the key; 0: the document does not have it.
int line_of_key(const YamlNode& map, std::string_view key) {
  for (const YamlMember& member : map.members)
    if (member.key == key) return member.line;
  return 0;
}

int line_of_setting(const YamlNode& root, const SettingHead& setting) {
  if (setting.group().empty()) return line_of_key(root, setting.key());
  const YamlNode* group = root.find(setting.group());
  return group == nullptr ? 0 : line_of_key(*group, setting.key());
}

template <class Document>
std::vector<EffectiveSetting> settings_in_use(const Document& document,
                                              std::span<const SettingRow<Document>> rows,
                                              std::string_view text, const Environment& environment) {
  YamlProblems problems("configuration");
  const YamlNode root = parse_yaml(text, problems);
  std::vector<EffectiveSetting> all;
  for (const auto& row : rows) {
    EffectiveSetting origin;
    origin.line = line_of_setting(root, row);
    if (origin.line > 0) origin.source = ValueSource::file;
    if (row.has_variable && environment.contains(row.variable())) {
      origin.source = ValueSource::environment;
      origin.variable = row.variable();
      origin.line = 0;
    }
    Shown shown;
    row.show(document, row, shown);
    for (const auto& [name, value] : shown) {
      EffectiveSetting& one = all.emplace_back(origin);
      one.name = name;
      one.value = value;
    }
  }
  return all;
}

}  // namespace

std::string_view to_string(ValueSource source) {
  switch (source) {
    case ValueSource::file:
      return "file";
    case ValueSource::environment:
      return "environment";
    case ValueSource::defaults:
      break;
  }
  return "default";
}

std::vector<EffectiveSetting> effective_settings(const Config& config, std::string_view text,
                                                 const Environment& environment) {
  return settings_in_use(config, settings(), text, environment);
}

std::vector<EffectiveSetting> effective_settings(const ControllerConfig& config, std::string_view text) {
  return settings_in_use(config, controller_settings(), text, {});
}

}  // namespace autopilot::config
