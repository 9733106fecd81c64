// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/output/section.hpp"

// One page without scripts and without outside resources, to print or to send; it follows the dark mode of
// the browser.
namespace autopilot::cli {

// Up to the begin of the body. `style`: rules after those of every page.
[[nodiscard]] std::string html_page_begin(std::string_view title, std::string_view style = {});
[[nodiscard]] std::string html_page_end();

// An element without attributes; the text is escaped.
[[nodiscard]] std::string html_element(std::string_view name, std::string_view text);
// Its title, table and notes. A wide table scrolls.
[[nodiscard]] std::string html_section(const Section& section);

// A text as the content of an element or of an attribute in quotes. Control characters become '?'.
[[nodiscard]] std::string html_escaped(std::string_view text);

}  // namespace autopilot::cli
