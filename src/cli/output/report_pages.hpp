// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "cli/output/table.hpp"
#include "learning/report/fleet_report.hpp"

namespace autopilot::cli {

[[nodiscard]] std::string report_text(const learning::FleetReport& report, const TableStyle& style);
[[nodiscard]] std::string report_json(const learning::FleetReport& report);
// One page without scripts and without outside resources, to print or to send.
[[nodiscard]] std::string report_html(const learning::FleetReport& report);

}  // namespace autopilot::cli
