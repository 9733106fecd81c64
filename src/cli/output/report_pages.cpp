// SPDX-License-Identifier: Apache-2.0
#include "cli/output/report_pages.hpp"

#include <vector>

#include "cli/output/report_sections.hpp"

namespace autopilot::cli {
namespace {

constexpr std::string_view kPageHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Autopilot report</title>
<style>
html { --text: #1c1c1c; --note: #444; --title: #555; --line: #999; --thin: #ddd; }
@media screen and (prefers-color-scheme: dark) {
  html { color-scheme: dark; --text: #e6e6e6; --note: #bbb; --title: #aaa; --line: #777; --thin: #383838; }
}
body { font: 14px/1.45 system-ui, sans-serif; color: var(--text); max-width: 62em; margin: 2em auto; padding: 0 1em; }
h1, h2, p { overflow-wrap: anywhere; }
h1 { font-size: 1.6em; margin: 0 0 0.2em; }
h2 { font-size: 1.15em; margin: 1.8em 0 0.4em; }
div { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-size: 0.8em; color: var(--title); border-bottom: 1px solid var(--line);
  padding: 0.2em 0.8em 0.2em 0; }
td { vertical-align: top; border-bottom: 1px solid var(--thin); padding: 0.25em 0.8em 0.25em 0;
  overflow-wrap: anywhere; }
p { color: var(--note); margin: 0.5em 0; max-width: 52em; }
@media screen and (max-width: 40em) { td { min-width: 6em; } }
@page { size: A4; margin: 15mm; }
@media print {
  body { font-size: 10px; max-width: none; margin: 0; padding: 0; }
  div { overflow: visible; }
  h2 { break-after: avoid; }
  tr, p { break-inside: avoid; }
  thead { display: table-header-group; }
}
</style>
</head>
<body>
)";

std::string element(std::string_view name, std::string_view text) {
  return "<" + std::string(name) + ">" + html_escaped(text) + "</" + std::string(name) + ">";
}

std::string row_of(std::string_view cell_name, const std::vector<std::string>& cells) {
  std::string row = "<tr>";
  for (const std::string& cell : cells)
    row += element(cell_name, cell);
  return row + "</tr>\n";
}

std::string html_section(const Section& section) {
  std::string out = element("h2", section.title) + "\n";
  if (!section.rows.empty()) {
    out += "<div><table>\n<thead>" + row_of("th", section.titles) + "</thead>\n<tbody>\n";
    for (const std::vector<std::string>& cells : section.rows)
      out += row_of("td", cells);
    out += "</tbody>\n</table></div>\n";
  }
  for (const std::string& note : section.notes)
    out += element("p", note) + "\n";
  return out;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string report_text(const learning::FleetReport& report, const TableStyle& style) {
  std::string out = "Report of " + report_heading(report) + "\n";
  for (const Section& section : report_sections(report))
    out += "\n== " + section.title + "\n\n" + render_section_body(section, style);
  return out;
}

std::string report_html(const learning::FleetReport& report) {
  std::string out(kPageHead);
  out += element("h1", "Autopilot report") + "\n" + element("p", report_heading(report)) + "\n";
  for (const Section& section : report_sections(report))
    out += html_section(section);
  return out + "</body>\n</html>\n";
}

}  // namespace autopilot::cli
