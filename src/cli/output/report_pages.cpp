// SPDX-License-Identifier: Apache-2.0
#include "cli/output/report_pages.hpp"

#include "cli/output/html_page.hpp"
#include "cli/output/report_sections.hpp"

namespace autopilot::cli {

std::string report_text(const learning::FleetReport& report, const TableStyle& style) {
  std::string out = "Report of " + report_heading(report) + "\n";
  for (const Section& section : report_sections(report))
    out += "\n== " + section.title + "\n\n" + render_section_body(section, style);
  return out;
}

std::string report_html(const learning::FleetReport& report) {
  std::string out = html_page_begin("Autopilot report");
  out += html_element("h1", "Autopilot report") + "\n" + html_element("p", report_heading(report)) + "\n";
  for (const Section& section : report_sections(report))
    out += html_section(section);
  return out + html_page_end();
}

}  // namespace autopilot::cli
