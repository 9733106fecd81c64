// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/yaml.hpp"

namespace autopilot {

// Nodes for a document that is written, not read. A string is quoted, so that it never becomes a number.
[[nodiscard]] YamlNode yaml_word(std::string_view text);
[[nodiscard]] YamlNode yaml_flag(bool value);
[[nodiscard]] YamlNode yaml_number(double value);
template <std::integral T>
[[nodiscard]] YamlNode yaml_integer(T value) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = std::to_string(value);
  return node;
}
[[nodiscard]] YamlNode yaml_list();
[[nodiscard]] YamlNode yaml_map();

// The value of `key`, appended as null if it is missing; `map` becomes a map if it was null.
YamlNode& yaml_member(YamlNode& map, std::string_view key);
void yaml_remove(YamlNode& map, std::string_view key);
// Merges `over` into `base`: maps key by key, a null removes the key, any other value replaces.
void yaml_merge(YamlNode& base, const YamlNode& over);

// The document as text that parse_yaml reads back as the same nodes (except for line numbers). A map or list
// of scalars is written on one line if it is short or part of a list.
[[nodiscard]] std::string to_yaml(const YamlNode& node);

}  // namespace autopilot
