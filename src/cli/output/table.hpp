// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/snapshot.hpp"

namespace autopilot::cli {

struct TableStyle {
  bool color = false;
  std::size_t width = 80;  // columns, at least 60
};

// Table of a node: one row per check with its findings, then the incidents. Control characters are replaced
// (see printable).
[[nodiscard]] std::string render_node(const NodeSnapshot& snapshot, const TableStyle& style);

// Breaks `text` into lines of at most `width` columns, and words that are longer into pieces.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t width);

// The words, separated by ", ".
[[nodiscard]] std::string joined(const std::vector<std::string>& words);

// Makes untrusted text safe for a terminal: '?' replaces control characters, invisible characters and changes
// of text direction (U+202E); U+FFFD replaces bytes that are not valid UTF-8.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace autopilot::cli
