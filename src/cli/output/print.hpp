// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cli/output/node_page.hpp"
#include "cli/output/table.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

// Colour if standard output is a terminal, unless NO_COLOR is set or TERM is dumb. Width of the terminal from
// 60 to 160, else 80.
[[nodiscard]] TableStyle terminal_style();
[[nodiscard]] bool stdout_is_terminal();
// Rows and columns of the terminal; nullopt if standard output is not a terminal or the size is unknown.
struct TerminalSize {
  std::size_t rows = 0;
  std::size_t columns = 0;
};
[[nodiscard]] std::optional<TerminalSize> terminal_size();
// A page at that time, for standard output: on a terminal, with its colours and its width from 40 to 200, and
// so high that its first line and the next prompt are visible together; else of 80 columns and any height.
[[nodiscard]] PageView page_view(WallTime now);

// Prints "autopilot: <what>" on standard error. Returns the exit code: 64 for malformed that begins with
// "--simulate: ", a scenario that does not exist, 78 for any other malformed, else 70.
int report(const Error& error);
// The same for a usage error. Returns 64.
int report_usage(std::string_view what);

// Prints the same lines on standard error without an exit code. Shortens a line of more than 2000 bytes in
// the middle.
void tell(std::string_view text, std::string_view before = "autopilot: ");

// Prints JSON or YAML on standard output; on a terminal through printable().
void print_document(std::string_view lines);

enum class OutputFormat : unsigned char { table, json, yaml };

// Name of the format for -o.
[[nodiscard]] std::string format_name(OutputFormat format);

// -o, --output table|json|yaml
void add_format_option(CLI::App& verb, OutputFormat& format);

// Prints a node on standard output: its page, or all of its checks as a table, or a document. An incident of
// a run of checks without an agent cannot be acknowledged, so that its page has no ids for that.
enum class NodeDetail : unsigned char { page, page_without_agent, all };
void print_node(const NodeSnapshot& node, OutputFormat format, NodeDetail detail, WallTime now);
// Prints valid JSON on standard output, as JSON or YAML.
void print_json(const std::string& json, OutputFormat format);

}  // namespace autopilot::cli
