// SPDX-License-Identifier: Apache-2.0
#include "cli/output/layout.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "core/result.hpp"
#include "core/text.hpp"

namespace autopilot::cli {

namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastRoom = 24;   // minimum width of the last column beside the others
constexpr std::size_t kWidestCell = 64;  // a longer cell shifts only its own row

// Widths of all columns except the last.
std::vector<std::size_t> widths_of(const std::vector<std::string>& titles, const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column + 1 < titles.size(); ++column) {
    std::size_t width = titles[column].size();
    for (const Row& row : rows)
      width = std::max(width, std::min(kWidestCell, row[column].text.size()));
    widths.push_back(width + kGap);
  }
  return widths;
}

void end_line(std::string& out) {
  out.resize(out.find_last_not_of(' ') + 1);
  out += '\n';
}

}  // namespace

std::string render_columns(const std::vector<std::string>& titles, std::vector<Row> rows,
                           const TableStyle& style) {
  for (Row& row : rows) {
    AUTOPILOT_ASSERT(row.size() == titles.size());
    for (Cell& cell : row)
      cell.text = printable(cell.text);
  }
  const auto widths = widths_of(titles, rows);
  const std::size_t width = std::max<std::size_t>(style.width, 60);
  const std::size_t before = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
  const bool has_room = before + kLeastRoom <= width;
  const std::size_t indent = has_room ? before : 2 * kGap;
  std::string out;
  for (std::size_t column = 0; column < titles.size(); ++column)
    out += column < widths.size() ? padded(titles[column], widths[column]) : titles[column];
  end_line(out);
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < widths.size(); ++column)
      out += painted(padded(row[column].text, widths[column]), row[column].color, style);
    bool is_beside = has_room;
    for (const auto& line : wrapped(row.back().text, width - indent)) {
      if (!is_beside) {
        end_line(out);
        out.append(indent, ' ');
      }
      is_beside = false;
      out += painted(line, row.back().color, style);
    }
    end_line(out);
  }
  return out;
}

std::string_view color_of(Health health) {
  switch (health) {
    case Health::healthy:
      return "\033[32m";
    case Health::degraded:
      return "\033[33m";
    case Health::failed:
      return "\033[1;31m";
    case Health::unknown:
      return "\033[35m";
    case Health::unsupported:
      return "\033[2m";
  }
  return "";
}

std::string painted(std::string_view text, std::string_view color, const TableStyle& style) {
  if (!style.color || color.empty()) return std::string(text);
  return std::string(color) + std::string(text) + "\033[0m";
}

std::string simulated_word(const TableStyle& style) {
  return painted("SIMULATED", "\033[1;36m", style);
}

std::string simulated_line(bool is_simulated, const TableStyle& style) {
  return is_simulated ? simulated_word(style) + "\n" : "";
}

std::string cut_text(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string(text);
  return width < 4 ? std::string(cut_utf8(text, width)) : std::string(cut_utf8(text, width - 3)) + "...";
}

std::string padded(std::string_view text, std::size_t width) {
  std::string cell(text);
  cell.resize(std::max(width, cell.size() + 1), ' ');
  return cell;
}

}  // namespace autopilot::cli
