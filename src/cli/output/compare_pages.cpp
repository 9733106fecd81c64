// SPDX-License-Identifier: Apache-2.0
#include "cli/output/compare_pages.hpp"

#include <algorithm>
#include <array>

#include "cli/output/compare_charts.hpp"
#include "cli/output/compare_sections.hpp"
#include "cli/output/html_page.hpp"
#include "cli/output/layout.hpp"

namespace autopilot::cli {
namespace {

namespace cmp = workloads::compare;

constexpr std::size_t kReasonsOnScreen = 8;
constexpr std::size_t kFiguresOnScreen = 12;
constexpr std::size_t kRemarksOnScreen = 6;
constexpr std::size_t kCaveatsOnScreen = 2;

// A cell of a Markdown table, in which a text of a file never becomes markup.
std::string markdown_text(std::string_view text) {
  constexpr std::string_view special = "\\`*_{}[]<>|#";
  std::string out;
  for (const char c : printable(text)) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells)
    row += " " + markdown_text(cell) + " |";
  return row + "\n";
}

std::string markdown_section(const Section& section) {
  std::string out = "\n## " + markdown_text(section.title) + "\n\n";
  if (!section.rows.empty()) {
    out += markdown_row(section.titles) + "|";
    for (std::size_t i = 0; i < section.titles.size(); ++i)
      out += "---|";
    out += "\n";
    for (const std::vector<std::string>& cells : section.rows)
      out += markdown_row(cells);
    out += "\n";
  }
  for (const std::string& note : section.notes)
    out += markdown_text(note) + "\n\n";
  return out;
}

std::string bullet(std::string_view text, const TableStyle& style) {
  std::string out;
  for (const std::string& line : wrapped(printable(text), style.width - 4))
    out += (out.empty() ? "  - " : "    ") + line + "\n";
  return out;
}

std::string reasons_text(const cmp::Comparison& comparison, const TableStyle& style) {
  const auto reasons = comparison.verdict.reasons();
  std::string out;
  for (std::size_t i = 0; i < std::min(reasons.size(), kReasonsOnScreen); ++i)
    out += bullet(reasons[i], style);
  if (reasons.size() > kReasonsOnScreen)
    out += bullet(std::to_string(reasons.size() - kReasonsOnScreen) + " more", style);
  return out;
}

// Large units for a screen.
struct ScreenUnit {
  std::string_view from;
  std::string_view to;
  double factor;
};
constexpr double kLargeFrom = 1e6;
constexpr std::array<ScreenUnit, 2> kScreenUnits{
    {{"kB", "GiB", 1.0 / (1024.0 * 1024.0)}, {"B/s", "MB/s", 1e-6}}};

cmp::Figure on_screen(cmp::Figure figure) {
  const double most = std::max(figure.a ? figure.a->value : 0, figure.b ? figure.b->value : 0);
  for (const ScreenUnit& unit : kScreenUnits) {
    if (figure.unit != unit.from || most < kLargeFrom) continue;
    figure.unit = unit.to;
    for (std::optional<cmp::FigureValue>* value : {&figure.a, &figure.b})
      if (*value) (*value)->value *= unit.factor;
    if (figure.difference)
      figure.difference =
          Interval{figure.difference->low * unit.factor, figure.difference->high * unit.factor};
  }
  constexpr std::string_view mean = ", mean";
  if (figure.name.ends_with(mean)) figure.name.resize(figure.name.size() - mean.size());
  if (!figure.unit.empty()) figure.name += ", " + figure.unit;
  return figure;
}

std::string figure_value(const std::optional<cmp::FigureValue>& value, const cmp::Figure& figure) {
  return value ? cmp::number_text(value->value, figure_digits(figure)) : "unknown";
}

// What decides first, then the figures that both sides have.
std::string figures_text(const cmp::Comparison& comparison, const TableStyle& style) {
  std::vector<Row> rows;
  std::vector<std::string> caveats;
  for (const bool wants_both : {true, false})
    for (const cmp::Figure& figure : comparison.figures)
      if ((figure.a && figure.b) == wants_both && rows.size() < kFiguresOnScreen) {
        const cmp::Figure shown = on_screen(figure);
        const std::string caveat = figure.caveat.substr(0, figure.caveat.find("; "));
        if (!caveat.empty() && caveats.size() < kCaveatsOnScreen &&
            std::find(caveats.begin(), caveats.end(), caveat) == caveats.end())
          caveats.push_back(caveat);
        rows.push_back({{shown.name},
                        {figure_value(shown.a, shown)},
                        {figure_value(shown.b, shown)},
                        {difference_text(shown)}});
      }
  if (rows.empty()) return {};
  const std::size_t left = comparison.figures.size() - rows.size();
  std::string out =
      "\n" + render_columns({"MEAN OR FIGURE", "A", "B", "B - A (95 %)"}, std::move(rows), style);
  if (left > 0) out += "  and " + std::to_string(left) + " more figures\n";
  for (const std::string& caveat : caveats)
    out += "Caveat: " + printable(caveat) + ".\n";
  return out;
}

std::string remarks_text(const cmp::Comparison& comparison, const TableStyle& style) {
  std::string out;
  std::size_t shown = 0;
  std::size_t left = 0;
  for (const cmp::Remark& remark : comparison.remarks) {
    if (remark.kind == cmp::RemarkKind::meaning) continue;
    if (shown < kRemarksOnScreen)
      out += bullet(remark.side + ": " + remark.text, style);
    else
      ++left;
    ++shown;
  }
  if (left > 0) out += bullet(std::to_string(left) + " more", style);
  return out.empty() ? out : "\nThe data also shows:\n" + out;
}

std::string claims_text(const cmp::Comparison& comparison) {
  if (comparison.claims.empty()) return {};
  const auto count = [&comparison](cmp::ClaimVerdict verdict) {
    return std::count_if(comparison.claims.begin(), comparison.claims.end(),
                         [verdict](const cmp::CheckedClaim& one) { return one.verdict == verdict; });
  };
  return "\nClaims: " + std::to_string(count(cmp::ClaimVerdict::holds)) + " hold, " +
         std::to_string(count(cmp::ClaimVerdict::refuted)) + " are refuted, " +
         std::to_string(count(cmp::ClaimVerdict::untested)) + " were not tested.\n";
}

std::string chart_figures(const cmp::Comparison& comparison) {
  const auto charts = compare_charts(comparison);
  if (charts.empty()) return {};
  std::string out = html_element("h2", "Charts") + "\n";
  for (const Chart& chart : charts)
    out += "<figure>\n" + html_element("figcaption", chart.title) +
           "\n<div tabindex=\"0\" role=\"region\" aria-label=\"" + html_escaped(chart.title) + "\">\n" +
           chart.svg + "</div>\n</figure>\n";
  return out;
}

}  // namespace

std::string compare_text(const cmp::Comparison& comparison, const TableStyle& style) {
  std::string out;
  for (const std::string& line : wrapped(printable(compare_heading(comparison)), style.width))
    out += line + "\n";
  out += reasons_text(comparison, style);
  for (const std::string& line : wrapped(printable(comparison.conclusion), style.width))
    out += line + "\n";
  return out + figures_text(comparison, style) + remarks_text(comparison, style) + claims_text(comparison);
}

std::string compare_html(const cmp::Comparison& comparison) {
  std::string out = html_page_begin("Autopilot comparison", chart_style());
  out += html_element("h1", "Comparison of two runs") + "\n" +
         html_element("p", compare_heading(comparison)) + "\n";
  const auto sections = compare_sections(comparison);
  out += html_section(sections.front()) + chart_figures(comparison);
  for (std::size_t i = 1; i < sections.size(); ++i)
    out += html_section(sections[i]);
  return out + html_page_end();
}

std::string compare_markdown(const cmp::Comparison& comparison) {
  std::string out = "# Comparison of two runs\n\n" + markdown_text(compare_heading(comparison)) + "\n";
  for (const Section& section : compare_sections(comparison))
    out += markdown_section(section);
  return out;
}

}  // namespace autopilot::cli
