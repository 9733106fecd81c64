// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <string_view>

#include "cli/output/table.hpp"
#include "core/result.hpp"
#include "core/snapshot.hpp"

namespace autopilot::cli {

// Colour if standard output is a terminal, unless NO_COLOR is set or TERM is dumb. Width of the terminal from
// 60 to 160, else 80.
[[nodiscard]] TableStyle terminal_style();
[[nodiscard]] bool stdout_is_terminal();

// Prints "autopilot: <what>" on standard error. Returns the exit code: 78 for malformed, else 70.
int report(const Error& error);
// The same for a usage error. Returns 64.
int report_usage(std::string_view what);

// Prints the same lines on standard error without an exit code. Shortens a line of more than 2000 bytes in
// the middle.
void tell(std::string_view text, std::string_view before = "autopilot: ");

// Prints JSON or YAML on standard output; on a terminal through printable().
void print_document(std::string_view lines);

// Shows frames in place on a terminal. The destructor restores the screen.
class LiveScreen {
 public:
  LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;
  ~LiveScreen();
  void show(std::string_view frame);
};

enum class OutputFormat : unsigned char { table, json, yaml };

// Name of the format for -o.
[[nodiscard]] std::string format_name(OutputFormat format);

// -o, --output table|json|yaml
void add_format_option(CLI::App& verb, OutputFormat& format);

// Prints a node on standard output.
void print_node(const NodeSnapshot& node, OutputFormat format);
// Prints valid JSON on standard output, as JSON or YAML.
void print_json(const std::string& json, OutputFormat format);

}  // namespace autopilot::cli
