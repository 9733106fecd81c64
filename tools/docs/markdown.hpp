// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.hpp"

namespace autopilot::docs {

// First line of every page.
inline constexpr std::string_view kNote =
    "<!-- Made from catalog/ and src/config/ by `cmake --build --preset dev --target docs`; a change here is "
    "lost. -->\n\n";

// Text for a cell of a table.
[[nodiscard]] std::string cell(std::string_view text);
[[nodiscard]] std::string code(std::string_view text);
[[nodiscard]] std::string join(const std::vector<std::string>& words, bool as_code);
[[nodiscard]] std::string number(double value);
[[nodiscard]] std::string origin(const catalog::Provenance& provenance);
[[nodiscard]] std::string action_text(Action action);

}  // namespace autopilot::docs
