// SPDX-License-Identifier: Apache-2.0
#include "core/clock.hpp"

#include <array>
#include <cstdio>

#include "core/parse.hpp"

namespace autopilot {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Reads exactly `width` digits at the front of `text` and removes them.
std::optional<int> take_digits(std::string_view& text, std::size_t width) {
  if (text.size() < width) return std::nullopt;
  const auto number = parse_number<unsigned>(text.substr(0, width));
  if (!number) return std::nullopt;
  text.remove_prefix(width);
  return static_cast<int>(*number);
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

// ".123" -> 123 ms in nanoseconds; nothing -> 0; "." without a digit is an error.
std::optional<nanoseconds> take_fraction(std::string_view& text) {
  if (!take(text, '.')) return nanoseconds{0};
  std::int64_t value = 0;
  int digits = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    if (digits < 9) {
      value = value * 10 + (text.front() - '0');
      ++digits;
    }
    text.remove_prefix(1);
  }
  if (digits == 0) return std::nullopt;
  for (; digits < 9; ++digits)
    value *= 10;
  return nanoseconds{value};
}

// "Z", "+02:00", "-0530"
std::optional<minutes> take_offset(std::string_view& text) {
  if (take(text, 'Z') || take(text, 'z')) return minutes{0};
  const bool negative = !text.empty() && text.front() == '-';
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const auto hour = take_digits(text, 2);
  take(text, ':');
  const auto minute = take_digits(text, 2);
  if (!hour || !minute || *hour > 23 || *minute > 59) return std::nullopt;
  const minutes offset = hours{*hour} + minutes{*minute};
  return negative ? -offset : offset;
}

struct Unit {
  std::string_view name;
  Duration length;
};
constexpr std::array<Unit, 7> kUnits{{
    {"ns", nanoseconds{1}},
    {"us", std::chrono::microseconds{1}},
    {"ms", std::chrono::milliseconds{1}},
    {"s", seconds{1}},
    {"m", minutes{1}},
    {"h", hours{1}},
    {"d", days{1}},
}};

}  // namespace

std::string format_time(WallTime time) {
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{std::chrono::floor<std::chrono::milliseconds>(time - day)};
  std::array<char, 64> text{};
  const int size = std::snprintf(
      text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

std::optional<WallTime> parse_time(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || !(take(text, 'T') || take(text, 't') || take(text, ' '))) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ':')) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const auto fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const auto offset = take_offset(text);
  if (!offset || !text.empty()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{*year},
                                         std::chrono::month{static_cast<unsigned>(*month)},
                                         std::chrono::day{static_cast<unsigned>(*day)}};
  // Nanoseconds in 64 bits reach from 1677 to 2262.
  if (!date.ok() || *year < 1678 || *year > 2261) return std::nullopt;
  return WallTime{std::chrono::sys_days{date}} + hours{*hour} + minutes{*minute} + seconds{*second} +
         *fraction - *offset;
}

std::string format_duration(Duration duration) {
  if (duration < Duration{0}) return "-" + format_duration(-duration);
  if (duration == Duration{0}) return "0s";
  if (duration < seconds{1}) {
    for (std::size_t unit = 2; unit > 0; --unit)
      if (duration % kUnits[unit].length == Duration{0})
        return std::to_string(duration / kUnits[unit].length) + std::string(kUnits[unit].name);
    return std::to_string(duration.count()) + "ns";
  }
  std::string text;
  for (std::size_t unit = kUnits.size(); unit-- > 2;) {
    const auto count = duration / kUnits[unit].length;
    if (count == 0) continue;
    text += std::to_string(count) + std::string(kUnits[unit].name);
    duration -= count * kUnits[unit].length;
  }
  return text;
}

std::optional<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    std::size_t digits = 0;
    while (digits < text.size() && ((text[digits] >= '0' && text[digits] <= '9') || text[digits] == '.'))
      ++digits;
    const auto number = parse_number<double>(text.substr(0, digits));
    if (!number) return std::nullopt;
    text.remove_prefix(digits);
    std::size_t letters = 0;
    while (letters < text.size() && text[letters] >= 'a' && text[letters] <= 'z')
      ++letters;
    const std::string_view name = text.substr(0, letters);
    text.remove_prefix(letters);
    const Unit* unit = nullptr;
    for (const Unit& candidate : kUnits)
      if (candidate.name == name) unit = &candidate;
    if (unit == nullptr) return std::nullopt;
    total += *number * static_cast<double>(unit->length.count());
  }
  constexpr double kLongest = 9.0e18;
  if (total > kLongest) return std::nullopt;
  return Duration{static_cast<std::int64_t>(total)};
}

}  // namespace autopilot
