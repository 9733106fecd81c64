// SPDX-License-Identifier: Apache-2.0
#include "cli/output/print.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "api/v1.hpp"
#include "cli/cli.hpp"
#include "core/parse.hpp"
#include "core/text.hpp"

namespace autopilot::cli {

namespace {

bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && term != nullptr && std::strcmp(term, "dumb") != 0;
}

// An error may quote long input, such as a file.
constexpr std::size_t kLongestErrorLine = 2000;

std::string shortened(std::string line) {
  if (line.size() <= kLongestErrorLine) return line;
  const std::string_view beginning = cut_utf8(line, kLongestErrorLine / 2);
  std::size_t end = line.size() - kLongestErrorLine / 2;
  while ((static_cast<unsigned char>(line[end]) & 0xc0U) == 0x80U)
    ++end;
  return std::string(beginning) + " ... " + line.substr(end);
}

}  // namespace

bool stdout_is_terminal() {
  return ::isatty(STDOUT_FILENO) == 1;
}

TableStyle terminal_style() {
  TableStyle style;
  if (!stdout_is_terminal()) return style;
  style.color = wants_color();
  if (const auto size = terminal_size()) style.width = std::clamp<std::size_t>(size->columns, 60, 160);
  return style;
}

std::optional<TerminalSize> terminal_size() {
  winsize size{};
  if (!stdout_is_terminal() || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return std::nullopt;
  if (size.ws_row == 0 || size.ws_col == 0) return std::nullopt;
  return TerminalSize{size.ws_row, size.ws_col};
}

PageView page_view(WallTime now) {
  PageView view;
  view.now = now;
  view.color = terminal_style().color;
  const auto size = terminal_size();
  if (!size) return view;
  constexpr std::size_t kPromptLines = 2;
  view.width = std::clamp<std::size_t>(size->columns, 40, 200);
  view.height = size->rows > kPromptLines ? size->rows - kPromptLines : 1;
  return view;
}

void tell(std::string_view text, std::string_view before) {
  for (const std::string_view line : split(text, '\n'))
    std::cerr << std::exchange(before, "") << shortened(printable(line)) << "\n";
}

void print_document(std::string_view lines) {
  if (lines.ends_with('\n')) lines.remove_suffix(1);
  if (!stdout_is_terminal()) {
    std::cout << lines << "\n";
    return;
  }
  for (const std::string_view line : split(lines, '\n'))
    std::cout << printable(line) << "\n";
}

int report(const Error& error) {
  tell(error.what);
  if (error.code != Errc::malformed) return kExitInternal;
  return error.what.starts_with("--simulate: ") ? kExitUsage : kExitConfiguration;
}

int report_usage(std::string_view what) {
  tell(what);
  return kExitUsage;
}

std::string format_name(OutputFormat format) {
  if (format == OutputFormat::table) return "table";
  return format == OutputFormat::json ? "json" : "yaml";
}

void add_format_option(CLI::App& verb, OutputFormat& format) {
  static const std::map<std::string, OutputFormat> formats{
      {"table", OutputFormat::table}, {"json", OutputFormat::json}, {"yaml", OutputFormat::yaml}};
  verb.add_option_function<std::string>(
          "-o,--output",
          [&format](const std::string& word) {
            const auto found = formats.find(word);
            if (found == formats.end())
              throw CLI::ValidationError("--output", "expected table, json or yaml, not '" + word + "'");
            format = found->second;
          },
          "table, json or yaml")
      ->type_name("FORMAT");
}

void print_json(const std::string& json, OutputFormat format) {
  if (format != OutputFormat::yaml) return print_document(json);
  const auto yaml = api::json_to_yaml(json);
  AUTOPILOT_ASSERT(yaml.has_value());
  print_document(*yaml);
}

void print_node(const NodeSnapshot& node, OutputFormat format, NodeDetail detail, WallTime now) {
  if (format != OutputFormat::table) return print_json(api::to_json(node), format);
  if (detail == NodeDetail::all) {
    std::cout << render_node(node, terminal_style());
    return;
  }
  NodePage page = page_of(node);
  if (detail == NodeDetail::page_without_agent)
    for (PageProblem& problem : page.problems)
      problem.incident.clear();
  std::cout << render_page(page, page_view(now));
}

}  // namespace autopilot::cli
