// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"

// A page that is longer than the terminal: what its keys do, and the lines on the screen. Pure.
namespace autopilot::cli {

enum class Key : unsigned char { up, down, page_up, page_down, home, end, all, quit };

// The keys in bytes that a terminal sent: arrows (or k, j), PgUp (or b), PgDn (or the space bar), Home (or
// g), End (or G), a and q. Other bytes are skipped.
[[nodiscard]] std::vector<Key> keys_in(std::string_view bytes);

// Lines of a page: the header stays at the top of the screen, the body scrolls.
struct ScreenPage {
  std::vector<std::string> header;
  std::vector<std::string> body;
  std::string hint;  // what the keys do; at the bottom
};

// "no agent answers since 12s; the page is from 14:02:10 UTC"
[[nodiscard]] std::string no_answer_text(const Instant& answered, const Instant& now);
// Puts `notice` before the header, and dims the rest, which has no colours, on a terminal with colours.
void mark_outdated(ScreenPage& page, std::vector<std::string> notice, bool has_color);

class Scroll {
 public:
  // Only keys that move.
  void move(Key key, const ScreenPage& page, std::size_t rows);
  void to_top() { offset_ = 0; }
  // The screen: at most `rows` lines, each with a line end except the last. A page that became shorter is
  // shown to its end.
  [[nodiscard]] std::string frame(const ScreenPage& page, std::size_t rows);

 private:
  std::size_t offset_ = 0;  // the first line of the body on the screen
};

}  // namespace autopilot::cli
