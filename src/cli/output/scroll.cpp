// SPDX-License-Identifier: Apache-2.0
#include "cli/output/scroll.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "cli/output/layout.hpp"
#include "cli/output/phrases.hpp"

namespace autopilot::cli {
namespace {

struct KeyBytes {
  std::string_view bytes;
  Key key;
};
// As xterm sends them, also in application mode. No entry begins with another one.
constexpr std::array kKeyBytes{
    KeyBytes{"\033[A", Key::up},       KeyBytes{"\033OA", Key::up},   KeyBytes{"k", Key::up},
    KeyBytes{"\033[B", Key::down},     KeyBytes{"\033OB", Key::down}, KeyBytes{"j", Key::down},
    KeyBytes{"\033[5~", Key::page_up}, KeyBytes{"b", Key::page_up},   KeyBytes{"\033[6~", Key::page_down},
    KeyBytes{" ", Key::page_down},     KeyBytes{"\033[H", Key::home}, KeyBytes{"\033OH", Key::home},
    KeyBytes{"\033[1~", Key::home},    KeyBytes{"g", Key::home},      KeyBytes{"\033[F", Key::end},
    KeyBytes{"\033OF", Key::end},      KeyBytes{"\033[4~", Key::end}, KeyBytes{"G", Key::end},
    KeyBytes{"a", Key::all},           KeyBytes{"A", Key::all},       KeyBytes{"q", Key::quit},
    KeyBytes{"Q", Key::quit}};

// Length of the escape sequence at the front; 1 for other bytes. A sequence of an unknown key is skipped as a
// whole, so that its last letter is not a key.
std::size_t unknown_length(std::string_view bytes) {
  if (bytes.front() != '\033' || bytes.size() < 2) return 1;
  if (bytes[1] == 'O') return std::min<std::size_t>(bytes.size(), 3);
  if (bytes[1] != '[') return 2;
  const auto end =
      std::find_if(bytes.begin() + 2, bytes.end(), [](char sign) { return sign >= '@' && sign <= '~'; });
  return end == bytes.end() ? bytes.size() : static_cast<std::size_t>(end - bytes.begin()) + 1;
}

std::size_t body_rows(const ScreenPage& page, std::size_t rows) {
  const std::size_t fixed = page.header.size() + 1;
  return rows > fixed ? rows - fixed : 0;
}

std::size_t last_offset(const ScreenPage& page, std::size_t rows) {
  const std::size_t room = body_rows(page, rows);
  return page.body.size() > room ? page.body.size() - room : 0;
}

}  // namespace

std::vector<Key> keys_in(std::string_view bytes) {
  std::vector<Key> keys;
  while (!bytes.empty()) {
    const auto known = std::ranges::find_if(
        kKeyBytes, [bytes](const KeyBytes& key) { return bytes.starts_with(key.bytes); });
    if (known != kKeyBytes.end()) keys.push_back(known->key);
    bytes.remove_prefix(known != kKeyBytes.end() ? known->bytes.size() : unknown_length(bytes));
  }
  return keys;
}

void Scroll::move(Key key, const ScreenPage& page, std::size_t rows) {
  const std::size_t last = last_offset(page, rows);
  const std::size_t room = std::max<std::size_t>(body_rows(page, rows), 1);
  const auto up = [this](std::size_t lines) { offset_ -= std::min(offset_, lines); };
  const auto down = [this, last](std::size_t lines) { offset_ = std::min(offset_ + lines, last); };
  switch (key) {
    case Key::up:
      return up(1);
    case Key::down:
      return down(1);
    case Key::page_up:
      return up(room);
    case Key::page_down:
      return down(room);
    case Key::home:
      return up(offset_);
    case Key::end:
      return down(last);
    case Key::all:
    case Key::quit:
      return;
  }
}

std::string Scroll::frame(const ScreenPage& page, std::size_t rows) {
  const std::size_t room = body_rows(page, rows);
  offset_ = std::min(offset_, last_offset(page, rows));
  const std::size_t shown = std::min(room, page.body.size() - offset_);
  std::vector<std::string> lines(
      page.header.begin(),
      page.header.begin() + static_cast<std::ptrdiff_t>(std::min(rows, page.header.size())));
  for (std::size_t i = 0; i < room; ++i)
    lines.push_back(i < shown ? page.body[offset_ + i] : std::string());
  std::string hint = page.hint;
  if (page.body.size() > room)
    hint += "  lines " + std::to_string(offset_ + 1) + " to " + std::to_string(offset_ + shown) + " of " +
            std::to_string(page.body.size());
  if (lines.size() < rows) lines.push_back(std::move(hint));
  std::string text;
  for (const std::string& line : lines)
    text += (&line == &lines.front() ? "" : "\n") + line;
  return text;
}

std::string no_answer_text(const Instant& answered, const Instant& now) {
  // The time since the answer is that of a clock that never jumps.
  const WallTime end = answered.wall + std::max(now.mono - answered.mono, Duration{0});
  return "no agent answers since " + age_of(answered.wall, end) + "; the page is from " +
         precise_clock_of(answered.wall, now.wall);
}

void mark_outdated(ScreenPage& page, std::vector<std::string> notice, bool has_color) {
  constexpr std::string_view kDimmed = "\033[2m";
  const TableStyle style{.color = has_color};
  for (auto* lines : {&page.header, &page.body})
    for (std::string& line : *lines)
      if (!line.empty()) line = painted(line, kDimmed, style);
  page.header.insert(page.header.begin(), std::make_move_iterator(notice.begin()),
                     std::make_move_iterator(notice.end()));
}

}  // namespace autopilot::cli
