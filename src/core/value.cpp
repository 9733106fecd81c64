// SPDX-License-Identifier: Apache-2.0
#include "core/value.hpp"

#include <array>
#include <charconv>
#include <type_traits>

namespace autopilot {

std::string to_string(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::string>) {
          return held;
        } else if constexpr (std::is_same_v<Held, bool>) {
          return held ? "true" : "false";
        } else {
          std::array<char, 40> text{};
          const auto end = std::to_chars(text.data(), text.data() + text.size(), held).ptr;
          return {text.data(), end};
        }
      },
      value);
}

std::optional<double> as_number(const Value& value) {
  return std::visit(
      [](const auto& held) -> std::optional<double> {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::string>)
          return std::nullopt;
        else
          return static_cast<double>(held);
      },
      value);
}

const Value* find_attribute(const Attributes& attributes, std::string_view name) {
  for (const auto& [key, value] : attributes)
    if (key == name) return &value;
  return nullptr;
}

}  // namespace autopilot
