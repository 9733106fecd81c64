// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace autopilot {

// A number or a word, as a machine reports it.
using Value = std::variant<std::int64_t, double, bool, std::string>;

// 12, 0.5, true, words as they are. For tables, evidence and metric labels.
[[nodiscard]] std::string to_string(const Value& value);
// Numbers and booleans as double; words give nothing.
[[nodiscard]] std::optional<double> as_number(const Value& value);

// Ordered name/value pairs of free form. Names are camelCase, as they appear in JSON.
using Attributes = std::vector<std::pair<std::string, Value>>;

[[nodiscard]] const Value* find_attribute(const Attributes& attributes, std::string_view name);

}  // namespace autopilot
