// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "api/json.hpp"
#include "cli/output/report_sections.hpp"
#include "cli/output/table.hpp"
#include "learning/report/lemon_list.hpp"

namespace autopilot::cli {

// The rows, and on what they are based.
[[nodiscard]] Section lemon_section(const learning::LemonList& list);
[[nodiscard]] std::string render_lemons(const learning::LemonList& list, WallTime now,
                                        const TableStyle& style);

[[nodiscard]] std::string lemons_json(const learning::LemonList& list, WallTime now);
// The members of the list, in an object that is open.
void write_lemons(api::JsonWriter& json, const learning::LemonList& list);

}  // namespace autopilot::cli
