// SPDX-License-Identifier: Apache-2.0
#include "cli/output/html_page.hpp"

#include <vector>

#include "cli/output/table.hpp"

namespace autopilot::cli {
namespace {

constexpr std::string_view kPageHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
)";

constexpr std::string_view kPageStyle =
    R"(html { --text: #1c1c1c; --note: #444; --title: #555; --line: #999; --thin: #ddd; }
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
)";

std::string html_row(std::string_view cell_name, const std::vector<std::string>& cells) {
  std::string row = "<tr>";
  for (const std::string& cell : cells)
    row += html_element(cell_name, cell);
  return row + "</tr>\n";
}

}  // namespace

std::string html_element(std::string_view name, std::string_view text) {
  return "<" + std::string(name) + ">" + html_escaped(text) + "</" + std::string(name) + ">";
}

std::string html_page_begin(std::string_view title, std::string_view style) {
  return std::string(kPageHead) + html_element("title", title) + "\n<style>\n" + std::string(kPageStyle) +
         std::string(style) + "</style>\n</head>\n<body>\n";
}

std::string html_page_end() {
  return "</body>\n</html>\n";
}

std::string html_section(const Section& section) {
  std::string out = html_element("h2", section.title) + "\n";
  if (!section.rows.empty()) {
    out += "<div><table>\n<thead>" + html_row("th", section.titles) + "</thead>\n<tbody>\n";
    for (const std::vector<std::string>& cells : section.rows)
      out += html_row("td", cells);
    out += "</tbody>\n</table></div>\n";
  }
  for (const std::string& note : section.notes)
    out += html_element("p", note) + "\n";
  return out;
}

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

}  // namespace autopilot::cli
