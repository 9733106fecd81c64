// SPDX-License-Identifier: Apache-2.0
#include "cli/help_format.hpp"

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

// Indent of the continuation lines of `line`.
std::size_t hanging_indent(std::string_view line) {
  constexpr std::size_t kLast = 40;  // further right, two blanks do not start a column
  const std::size_t first = line.find_first_not_of(' ');
  const std::size_t gap = line.find("  ", first);
  const std::size_t second = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return first != 0 && second <= kLast ? second : first;
}

void append_wrapped(std::string& text, std::string_view line) {
  if (line.size() <= kHelpColumns) {
    text += line;
    return;
  }
  const std::size_t indent = hanging_indent(line);
  for (bool is_first = true; !line.empty(); is_first = false) {
    const std::size_t before = is_first ? 0 : indent;
    const std::size_t room = kHelpColumns - before;
    std::size_t end = line.size() <= room ? line.size() : line.rfind(' ', room);
    // A word wider than the page is not broken.
    if (end == std::string_view::npos || (is_first && end <= indent))
      end = line.find(' ', is_first ? indent : 0);
    if (!is_first) text.append("\n").append(before, ' ');
    text += line.substr(0, end);
    line = end == std::string_view::npos ? "" : trim(line.substr(end));
  }
}

}  // namespace

std::string wrapped(std::string_view help) {
  std::string text;
  bool is_first = true;
  for (const std::string_view line : split(help, '\n')) {
    if (!is_first) text += '\n';
    is_first = false;
    append_wrapped(text, line);
  }
  return text;
}

}  // namespace autopilot::cli
