// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/output/section.hpp"
#include "cli/output/table.hpp"
#include "learning/report/fleet_report.hpp"

// The parts of a report, for every form that people read.
namespace autopilot::cli {

// "3 nodes, 2026-11-01 00:00 to 2026-12-01 00:00 UTC"
[[nodiscard]] std::string report_heading(const learning::FleetReport& report);
[[nodiscard]] std::vector<Section> report_sections(const learning::FleetReport& report);

// The table and the notes, without the title.
[[nodiscard]] std::string render_section_body(const Section& section, const TableStyle& style);

}  // namespace autopilot::cli
