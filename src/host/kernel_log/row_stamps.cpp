// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "core/parse.hpp"
#include "host/kernel_log/text_forms.hpp"

namespace autopilot::host {
namespace {

constexpr std::uint64_t kMaxBootSeconds = 1'000'000'000;
// Bytes of a text in brackets.
constexpr std::size_t kMaxBracket = 80;

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}

// "12.345678" or "12.345" as microseconds.
std::optional<std::uint64_t> seconds_of(std::string_view text) {
  text = trim(text);
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto fraction = text.substr(dot + 1);
  if (fraction.empty() || fraction.size() > 9) return std::nullopt;
  const auto seconds = parse_number<std::uint64_t>(text.substr(0, dot));
  auto rest = parse_number<std::uint64_t>(fraction);
  if (!seconds || !rest || *seconds > kMaxBootSeconds) return std::nullopt;
  for (auto digits = fraction.size(); digits < 6; ++digits)
    *rest *= 10;
  for (auto digits = fraction.size(); digits > 6; --digits)
    *rest /= 10;
  return *seconds * 1'000'000 + *rest;
}

// Accepts a fraction of any length with '.' or ',', and a zone without a colon.
std::optional<WallTime> zoned_time(std::string_view text) {
  std::string spelled(text);
  std::ranges::replace(spelled, ',', '.');
  const auto sign = spelled.find_last_of("+-");
  if (sign != std::string::npos && sign > 10 && spelled.size() - sign == 5) spelled.insert(sign + 3, ":");
  return parse_time(spelled);
}

// Removes the caller from the front: "[   T1234]" or "[    C3]". The kernel writes it right after the
// timestamp, dmesg after a blank. A blank without a caller after it is kept.
void take_caller(std::string_view& text) {
  std::string_view rest = text;
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  if (!rest.starts_with('[')) return;
  const auto end = rest.substr(0, 24).find(']');
  if (end == std::string_view::npos) return;
  const auto caller = trim(rest.substr(1, end - 1));
  if (caller.size() < 2 || (caller.front() != 'T' && caller.front() != 'C')) return;
  if (!std::ranges::all_of(caller.substr(1), is_decimal)) return;
  text = rest.substr(end + 1);
}

void take_behind_time(std::string_view& text) {
  take_caller(text);
  if (text.starts_with(' ')) text.remove_prefix(1);
}

// "   12.345678 <    0.000012>" without the distance to the previous row, which `journalctl` ends with a
// blank, or with a star if the clock was set.
std::string_view without_distance(std::string_view inner) {
  const auto begin = inner.find('<');
  if (begin == std::string_view::npos || !inner.ends_with('>')) return trim(inner);
  auto distance = inner.substr(begin + 1, inner.size() - begin - 2);
  if (distance.ends_with('*')) distance.remove_suffix(1);
  return seconds_of(distance) ? trim(inner.substr(0, begin)) : trim(inner);
}

// The text in brackets of dmesg and others.
bool is_boot_time(std::string_view inner, TextRow& row) {
  const auto time = seconds_of(inner);
  if (!time) return false;
  row.microseconds = time;
  return true;
}

// "+0.000844" of dmesg --reltime. The text is empty with --show-delta alone.
bool is_distance(std::string_view inner, TextRow& /*row*/) {
  return inner.empty() || (inner.starts_with('+') && seconds_of(inner.substr(1)));
}

// "Sat Nov 21 03:04:05 2026": with words of any language.
bool is_date_of_year(std::string_view inner, TextRow& /*row*/) {
  constexpr std::string_view kEnd = " 00:00:00 0000";
  return inner.size() > kEnd.size() && looks_like(inner.substr(inner.size() - kEnd.size()), kEnd);
}

// "Jan21 03:11", if the minute differs from the previous row.
bool is_minute(std::string_view inner, TextRow& /*row*/) {
  constexpr std::string_view kEnd = "0 00:00";
  constexpr std::size_t kMaxMinute = 24;
  return inner.size() > kEnd.size() && inner.size() <= kMaxMinute && inner.find(':') + 3 == inner.size() &&
         looks_like(inner.substr(inner.size() - kEnd.size()), kEnd);
}

// "2026-04-22T21:27:51.288000000Z", or with a blank as consoles write it.
bool is_date_of_log(std::string_view inner, TextRow& row) {
  if (looks_like(inner, "0000-00-00T00:00:00")) {
    row.wall = zoned_time(inner);
    return inner.find_first_not_of("0123456789-+:.,TZ") == std::string_view::npos;
  }
  return looks_like(inner, "0000-00-00 00:00:00") &&
         inner.find_first_not_of("0123456789-:., ") == std::string_view::npos;
}

struct Inside {
  StampKind kind;
  bool (*is)(std::string_view inner, TextRow& row);
};

// Removes "[...] " with a known timestamp inside.
StampKind take_bracket(std::string_view& text, TextRow& row) {
  constexpr std::array kInsides = {
      Inside{StampKind::ring, is_boot_time}, Inside{StampKind::ring, is_distance},
      Inside{StampKind::ring, is_date_of_year}, Inside{StampKind::ring, is_minute},
      Inside{StampKind::log, is_date_of_log}};
  if (!text.starts_with('[')) return StampKind::none;
  const auto close = text.substr(0, kMaxBracket).find(']');
  if (close == std::string_view::npos) return StampKind::none;
  const auto whole = trim(text.substr(1, close - 1));
  if (whole.empty()) return StampKind::none;
  const auto inner = without_distance(whole);
  const auto inside =
      std::ranges::find_if(kInsides, [&](const Inside& known) { return known.is(inner, row); });
  if (inside == kInsides.end()) return StampKind::none;
  text.remove_prefix(close + 1);
  if (text.starts_with(": ")) text.remove_prefix(1);  // Talos
  take_behind_time(text);
  return inside->kind;
}

constexpr std::string_view kBlanks = " \t";

// Removes `length` bytes and a following blank. False if the text continues without a blank.
bool take_end(std::string_view& text, std::size_t length) {
  if (length > text.size()) return false;
  if (length < text.size() && kBlanks.find(text[length]) == std::string_view::npos) return false;
  text.remove_prefix(std::min(length + 1, text.size()));
  return true;
}

// "2026-11-21T03:04:05.678901+0100 "; with a comma it is `dmesg --time-format iso`.
StampKind take_iso(std::string_view& text, TextRow& row) {
  if (!looks_like(text, "0000-00-00T00:00:00")) return StampKind::none;
  const auto end = text.substr(0, 48).find_first_of(kBlanks);
  if (end == std::string_view::npos) return StampKind::none;
  const auto stamp = text.substr(0, end);
  row.wall = zoned_time(stamp);
  if (stamp.find(',') == std::string_view::npos) {
    text.remove_prefix(end + 1);
    return StampKind::log;
  }
  text.remove_prefix(end);
  take_behind_time(text);
  return StampKind::ring;
}

// The end of the fraction of seconds that begins at `at`.
std::size_t end_of_fraction(std::string_view text, std::size_t at) {
  if (at >= text.size() || (text[at] != '.' && text[at] != ',')) return at;
  return at + 1 + leading_digits(text.substr(at + 1));
}

// The size of a short word of any language, without digits, brackets or colon; otherwise 0.
std::size_t word_size(std::string_view text) {
  constexpr std::size_t kMaxWord = 16;
  const auto end = text.substr(0, kMaxWord).find_first_of(" 0123456789[]:<>{}\"'=");
  return end == std::string_view::npos ? 0 : end;
}

// "Nov 21 03:04:05 ", "nov. 21 03:04:05 " or "11月 21 03:04:05 ", with a day of one or two digits: the size,
// or 0.
std::size_t day_and_time_size(std::string_view text) {
  auto at = leading_digits(text);
  if (at > 2) return 0;
  const auto word = word_size(text.substr(at));
  if (word == 0) return 0;
  at += word;
  for (const std::string_view picture :
       {" _0 00:00:00", " 0 00:00:00", " _0 0000 00:00:00", " 0 0000 00:00:00"})
    if (looks_like(text.substr(at), picture)) return end_of_fraction(text, at + picture.size());
  return 0;
}

// The time zone is unknown, so the time is not stored: "Nov 21 03:04:05 ", with the year before or after it,
// with the day of the week, or the journal's full format: "Sat 2026-11-21 03:04:05 UTC ".
StampKind take_day(std::string_view& text, TextRow& /*row*/) {
  std::string_view rest = text;
  if (looks_like(rest, "0000 ")) rest.remove_prefix(5);
  auto size = day_and_time_size(rest);
  if (const auto weekday = word_size(rest); size == 0 && weekday != 0 && rest[weekday] == ' ') {
    rest.remove_prefix(weekday + 1);
    size = day_and_time_size(rest);
    if (looks_like(rest, "0000-00-00 00:00:00")) {
      const auto zone = end_of_fraction(rest, 19) + 1;
      size = rest.find(' ', std::min(zone, rest.size()));
    }
  }
  if (size == 0 || size == std::string_view::npos || !take_end(rest, size)) return StampKind::none;
  if (looks_like(rest, "0000 ")) rest.remove_prefix(5);
  text = rest;
  return StampKind::log;
}

// "2026-11-21 03:04:05,678 ", with slashes as Go writes it, or without the date; the time zone is unknown.
StampKind take_date(std::string_view& text, TextRow& /*row*/) {
  for (const std::string_view picture : {"0000-00-00 00:00:00", "0000/00/00 00:00:00", "00:00:00"})
    if (looks_like(text, picture))
      return take_end(text, end_of_fraction(text, picture.size())) ? StampKind::log : StampKind::none;
  return StampKind::none;
}

// journalctl short-unix: "1763694245.678901 ".
StampKind take_unix(std::string_view& text, TextRow& row) {
  const auto end = text.substr(0, 24).find(' ');
  if (end == std::string_view::npos || end == 0 || !is_decimal(text.front())) return StampKind::none;
  const auto stamp = text.substr(0, end);
  const auto dot = stamp.find('.');
  if (dot == std::string_view::npos || stamp.size() - dot != 7) return StampKind::none;
  const auto seconds = parse_number<std::uint32_t>(stamp.substr(0, dot));
  const auto micros = parse_number<std::uint32_t>(stamp.substr(dot + 1));
  if (!seconds || !micros) return StampKind::none;
  row.wall = WallTime(std::chrono::seconds(*seconds) + std::chrono::microseconds(*micros));
  text.remove_prefix(end + 1);
  return StampKind::log;
}

template <class Words>
std::optional<int> index_of(std::string_view word, const Words& words) {
  const auto found = std::ranges::find(words, word);
  return found == words.end() ? std::nullopt : std::optional(static_cast<int>(found - words.begin()));
}

std::optional<int> level_of(std::string_view word) {
  constexpr std::array<std::string_view, 8> kLevels{"emerg", "alert",  "crit", "err",
                                                    "warn",  "notice", "info", "debug"};
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kSpellings{
      {{"warning", "warn"}, {"error", "err"}, {"panic", "emerg"}}};
  for (const auto& [spelling, meant] : kSpellings)
    if (word == spelling) word = meant;
  return index_of(word, kLevels);
}

// "<3>"
bool take_number(std::string_view& text, TextRow& row) {
  if (!text.starts_with('<')) return false;
  const auto close = text.substr(0, 8).find('>');
  if (close == std::string_view::npos) return false;
  const auto number = parse_number<unsigned>(text.substr(1, close - 1));
  if (!number || *number > 0xffff) return false;
  row.priority = static_cast<int>(*number & 7U);
  row.facility = static_cast<int>(*number >> 3U);
  text.remove_prefix(close + 1);
  return true;
}

// "kern  :err   : "
bool take_words(std::string_view& text, TextRow& row) {
  const auto first = text.substr(0, 12).find(':');
  if (first == std::string_view::npos) return false;
  const auto second = text.substr(0, 24).find(": ", first + 1);
  if (second == std::string_view::npos) return false;
  if (!set_priority(trim(text.substr(0, first)), trim(text.substr(first + 1, second - first - 1)), row))
    return false;
  text.remove_prefix(second + 2);
  return true;
}

}  // namespace

std::size_t leading_digits(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

bool looks_like(std::string_view text, std::string_view picture) {
  if (text.size() < picture.size()) return false;
  for (std::size_t index = 0; index < picture.size(); ++index) {
    const char c = text[index];
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    switch (picture[index]) {
      case '0':
        if (!is_decimal(c)) return false;
        break;
      case '_':
        if (!is_decimal(c) && c != ' ') return false;
        break;
      case 'A':
        if (!is_letter) return false;
        break;
      default:
        if (c != picture[index]) return false;
    }
  }
  return true;
}

StampKind take_stamp(std::string_view& text, TextRow& row) {
  for (const auto take : {take_bracket, take_iso, take_date, take_day, take_unix})
    if (const auto kind = take(text, row); kind != StampKind::none) return kind;
  return StampKind::none;
}

bool take_seconds_since_boot(std::string_view& text, TextRow& row) {
  TextRow taken;
  std::string_view rest = text;
  if (take_bracket(rest, taken) == StampKind::none || !taken.microseconds) return false;
  row.microseconds = taken.microseconds;
  text = rest;
  return true;
}

bool take_priority(std::string_view& text, TextRow& row) {
  return take_number(text, row) || take_words(text, row);
}

bool take_talos_priority(std::string_view& text, TextRow& row) {
  constexpr std::size_t kMaxNode = 256;
  const auto blank = text.substr(0, kMaxNode).find(": ");
  if (blank == std::string_view::npos) return false;
  for (const std::size_t begin : {std::size_t{0}, blank + 2}) {
    std::string_view rest = trim(text.substr(begin));
    const auto facility = rest.substr(0, 12).find(": ");
    if (facility == std::string_view::npos) continue;
    const auto level = rest.find(": [", facility + 2);
    if (level == std::string_view::npos || level > facility + 16) continue;
    if (!set_priority(rest.substr(0, facility), trim(rest.substr(facility + 2, level - facility - 2)), row))
      continue;
    text = rest.substr(level + 2);
    return true;
  }
  return false;
}

bool set_priority(std::string_view facility, std::string_view level, TextRow& row) {
  constexpr std::array<std::string_view, 24> kFacilities{
      "kern",   "user",   "mail",     "daemon", "auth",   "syslog",   "lpr",     "news",
      "uucp",   "cron",   "authpriv", "ftp",    "ntp",    "security", "console", "solaris-cron",
      "local0", "local1", "local2",   "local3", "local4", "local5",   "local6",  "local7"};
  const auto number = index_of(facility, kFacilities);
  const auto priority = level_of(level);
  if (!number || !priority) return false;
  row.facility = *number;
  row.priority = *priority;
  return true;
}

}  // namespace autopilot::host
