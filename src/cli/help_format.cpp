// SPDX-License-Identifier: Apache-2.0
#include "cli/help_format.hpp"

#include <algorithm>

#include "cli/exit_codes.hpp"
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

std::string verb_path(const CLI::App& verb) {
  std::string path = verb.get_name();
  for (const CLI::App* parent = verb.get_parent(); parent != nullptr; parent = parent->get_parent())
    path = parent->get_name() + " " + path;
  constexpr std::string_view kProgram = "autopilot";
  if (path == kProgram) return {};
  return path.starts_with(std::string(kProgram) + " ") ? path.substr(kProgram.size() + 1) : path;
}

std::string footer_of(const CLI::App& verb) {
  const bool is_program = verb.get_parent() == nullptr;
  if (verb.get_require_subcommand_min() > 0 && !is_program) return verb.get_footer();
  const std::string status = is_program ? exit_status_text() : exit_status_text(verb_path(verb));
  std::string footer = verb.get_footer();
  const std::size_t examples = std::min(footer.find("Examples:"), footer.size());
  const bool needs_line = examples > 0 && footer[examples - 1] != '\n';
  footer.insert(examples, (needs_line ? "\n" : "") + status + "\n");
  if (footer.ends_with('\n')) footer.pop_back();
  return footer;
}

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
