// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace autopilot {

// A number or a string, as a machine reports it.
using Value = std::variant<std::int64_t, double, bool, std::string>;

// 12, 0.5, true; strings unchanged. For tables, evidence and metric labels.
[[nodiscard]] std::string to_string(const Value& value);
// Numbers and booleans as double; nullopt for strings.
[[nodiscard]] std::optional<double> as_number(const Value& value);

// Ordered name/value pairs. Names are camelCase, as in JSON.
using Attributes = std::vector<std::pair<std::string, Value>>;

[[nodiscard]] const Value* find_attribute(const Attributes& attributes, std::string_view name);

}  // namespace autopilot
