// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/yaml_text.hpp"

namespace autopilot::workloads::migrate {

// A document in the style of Kubernetes: block style, texts of several lines as they are, and quotes around
// every string that a reader of YAML 1.1 or 1.2 could take for something else.
[[nodiscard]] std::string manifest_text(const YamlNode& node);

// Appends a string, a number, a flag, an empty map or an empty list.
void put(YamlNode& map, std::string_view key, std::string_view value);
void put_integer(YamlNode& map, std::string_view key, long long value);
void put_flag(YamlNode& map, std::string_view key, bool value);
YamlNode& put_map(YamlNode& map, std::string_view key);
YamlNode& put_list(YamlNode& map, std::string_view key);
YamlNode& add_map(YamlNode& list);
void add_word(YamlNode& list, std::string_view value);

}  // namespace autopilot::workloads::migrate
