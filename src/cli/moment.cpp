// SPDX-License-Identifier: Apache-2.0
#include "cli/moment.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "core/parse.hpp"

namespace autopilot::cli {
namespace {

// True if the text has the form of the pattern, where '0' is any digit.
bool has_form(std::string_view text, std::string_view pattern) {
  return std::ranges::equal(text, pattern, [](char letter, char wanted) {
    return wanted == '0' ? letter >= '0' && letter <= '9' : letter == wanted;
  });
}

bool is_day(std::string_view word) {
  return has_form(word, "0000-00-00");
}

// "2026-11-30" of a day or a word for one; empty for another word.
std::string day_of(std::string_view word, WallTime now) {
  constexpr std::size_t kDate = 10;  // of "2026-11-30T03:00:00.000Z"
  if (is_day(word)) return std::string(word);
  if (word == "today") return format_time(now).substr(0, kDate);
  if (word == "yesterday") return format_time(now - std::chrono::hours{24}).substr(0, kDate);
  return {};
}

// "03:00:00" of "3:00", "03:00" or "03:00:00"; empty for another word.
std::string clock_of(std::string_view word) {
  if (has_form(word, "0:00")) return "0" + std::string(word) + ":00";
  if (has_form(word, "00:00")) return std::string(word) + ":00";
  return has_form(word, "00:00:00") ? std::string(word) : std::string();
}

// nullopt: the words are not a day, a clock time, or both.
std::optional<std::string> written_out(const std::vector<std::string_view>& words, WallTime now) {
  if (words.empty() || words.size() > 2) return std::nullopt;
  const bool has_clock_only = words.size() == 1 && !clock_of(words[0]).empty();
  const std::string day = day_of(has_clock_only ? "today" : words[0], now);
  const std::string clock = has_clock_only      ? clock_of(words[0])
                            : words.size() == 2 ? clock_of(words[1])
                                                : "00:00:00";
  if (day.empty() || clock.empty()) return std::nullopt;
  return day + "T" + clock + "Z";
}

}  // namespace

Result<WallTime> parse_moment(const std::string& option, const std::string& text, WallTime now,
                              WallTime fallback) {
  if (text.empty()) return fallback;
  if (const auto ago = parse_duration(text)) return now - *ago;
  if (const auto time = parse_time(text)) return *time;
  const std::string lower = to_lower(text);
  if (trim(lower) == "now") return now;
  const auto words = split_words(lower);
  const auto written = written_out(words, now);
  if (const auto time = written ? parse_time(*written) : std::nullopt) return *time;
  if (written || (!words.empty() && is_day(words[0].substr(0, 10))))
    return fail(Errc::malformed, option + ": '" + text +
                                     "' is not a valid date and time; write for example 2026-11-30 or "
                                     "'2026-11-30 03:00' (UTC)");
  return fail(Errc::malformed,
              option +
                  ": expected a duration such as 30d, a day such as 2026-11-30 or yesterday, or "
                  "a time such as '2026-11-30 03:00' or 2026-11-21T03:04:05Z, not '" +
                  text + "'");
}

}  // namespace autopilot::cli
