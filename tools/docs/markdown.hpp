// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"

namespace autopilot::docs {

// First line of every page.
inline constexpr std::string_view kNote = "<!-- Made by the target `docs`. -->\n\n";

// Text for a cell of a table.
[[nodiscard]] std::string cell(std::string_view text);
[[nodiscard]] std::string code(std::string_view text);
[[nodiscard]] std::string join(const std::vector<std::string>& words, bool as_code);
[[nodiscard]] std::string number(double value);
[[nodiscard]] std::string origin(const catalog::Provenance& provenance);
// The kind of evidence is left out where the source names it.
[[nodiscard]] std::string short_origin(const catalog::Provenance& provenance);
[[nodiscard]] std::string action_text(Action action);

}  // namespace autopilot::docs
