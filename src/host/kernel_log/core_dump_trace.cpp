// SPDX-License-Identifier: Apache-2.0
#include "host/kernel_log/core_dump_trace.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/parse.hpp"

namespace autopilot::host {
namespace {

constexpr std::size_t kLongestWord = 128;

bool only_ends_programs(std::string_view library) {
  static constexpr std::array<std::string_view, 5> kBegins{"libc.so", "libc-", "libpthread", "ld-linux",
                                                           "n/a"};
  return std::ranges::any_of(kBegins,
                             [library](std::string_view begin) { return library.starts_with(begin); });
}

// "#0  0x00007f2b5c1a3e2c raise (libc.so.6 + 0x42520)"
std::optional<CrashPlace> parse_frame(std::string_view line) {
  const auto words = split_words(line);
  if (words.size() < 4 || !words[0].starts_with('#') || !words[1].starts_with("0x")) return std::nullopt;
  const auto open = std::ranges::find_if(words, [](std::string_view word) { return word.starts_with('('); });
  if (open == words.end() || open - words.begin() < 2 || open->size() < 2) return std::nullopt;
  const std::string_view function = words[2];
  const bool has_name = function != "n/a" && open - words.begin() == 3;
  return CrashPlace{.library = to_printable(open->substr(1), kLongestWord),
                    .function = has_name ? to_printable(function, kLongestWord) : std::string()};
}

}  // namespace

CrashPlace crash_place(std::string_view message) {
  for (const std::string_view line : split(message, '\n')) {
    auto frame = parse_frame(line);
    if (frame && !only_ends_programs(frame->library)) return *std::move(frame);
  }
  return {};
}

}  // namespace autopilot::host
