// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "cli/output/table.hpp"
#include "core/result.hpp"

namespace autopilot::cli {

// Colour only where standard output is a terminal that wants it (NO_COLOR, TERM=dumb); its width, at least
// 60, else 80.
[[nodiscard]] TableStyle terminal_style();
[[nodiscard]] bool stdout_is_terminal();

// "autopilot: <what>" on standard error, and the exit code that fits: 78 for malformed configuration,
// else 70.
int report(const Error& error);

// The same line on standard error, where the whole does not fail. A line that is longer than a screen
// keeps its beginning and its end.
void tell(std::string_view text, std::string_view before = "autopilot: ");

// Lines of a document for a program, JSON or YAML, on standard output. On a terminal they are printable().
void print_document(std::string_view lines);

// Shows frame after frame in place on a terminal; restores it at the end.
class LiveScreen {
 public:
  LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;
  ~LiveScreen();
  void show(std::string_view frame);
};

}  // namespace autopilot::cli
