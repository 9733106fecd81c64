// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot.hpp"

namespace autopilot::cli {

struct TableStyle {
  bool color = false;
  std::size_t width = 80;  // columns; never less than 60
};

// A node for a person: one line per check, below it what was found. Control characters never reach the
// terminal.
[[nodiscard]] std::string render_node(const NodeSnapshot& snapshot, const TableStyle& style);

// Words of `text` in lines of at most `width` columns; a word longer than that is cut into pieces.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

// With commas between them.
[[nodiscard]] std::string joined(const std::vector<std::string>& words);

// The door to the terminal for text that others wrote: a '?' for each control character and for each that is
// not seen or turns the direction of what follows (U+202E), U+FFFD for bytes that are no UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace autopilot::cli
