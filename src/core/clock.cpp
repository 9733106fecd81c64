// SPDX-License-Identifier: Apache-2.0
#include "core/clock.hpp"

#include <array>
#include <cmath>
#include <cstdint>
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

// ".123" gives 123 ms in nanoseconds; an empty text gives 0; "." without a digit is an error.
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

std::string_view take_while(std::string_view& text, char first, char last) {
  std::size_t size = 0;
  while (size < text.size() && text[size] >= first && text[size] <= last)
    ++size;
  const auto taken = text.substr(0, size);
  text.remove_prefix(size);
  return taken;
}

// "90s", "1.5h". Calculates in integer nanoseconds: floating point would lose precision for a long duration.
std::optional<Duration> take_duration_part(std::string_view& text) {
  const auto whole = parse_number<std::uint64_t>(take_while(text, '0', '9'));
  const auto fraction = take_fraction(text);
  if (!whole || !fraction) return std::nullopt;
  const auto name = take_while(text, 'a', 'z');
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (*whole > static_cast<std::uint64_t>(Duration::max() / unit.length)) return std::nullopt;
    const Duration part = static_cast<std::int64_t>(*whole) * unit.length;
    // Floating point, because a day multiplied by a billion overflows; the rounding error is below one
    // nanosecond.
    const double share = static_cast<double>(fraction->count()) / 1e9;
    const Duration rest{std::llround(share * static_cast<double>(unit.length.count()))};
    if (rest > Duration::max() - part) return std::nullopt;
    return part + rest;
  }
  return std::nullopt;
}

// 64 bits of nanoseconds cover the years 1677 to 2262; within this range, differences of times fit as well.
constexpr int kFirstYear = 1970;
constexpr int kEndYear = 2262;  // the first year beyond the range

constexpr std::chrono::sys_seconds begin_of(int year) {
  return std::chrono::sys_days{std::chrono::year{year} / std::chrono::January / 1};
}

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
  if (!date.ok()) return std::nullopt;
  const std::chrono::sys_seconds time =
      std::chrono::sys_days{date} + hours{*hour} + minutes{*minute} + seconds{*second} - *offset;
  if (time < begin_of(kFirstYear) || time >= begin_of(kEndYear)) return std::nullopt;
  return WallTime{time} + *fraction;
}

std::string format_duration(Duration duration) {
  if (duration == Duration{0}) return "0s";
  std::string text = duration < Duration{0} ? "-" : "";
  for (std::size_t unit = kUnits.size(); unit-- > 0;) {
    // Each unit is divided without changing the sign: the smallest duration has no positive counterpart.
    const auto count = duration / kUnits[unit].length;
    if (count == 0) continue;
    duration -= count * kUnits[unit].length;
    text += std::to_string(count < 0 ? -count : count) + std::string(kUnits[unit].name);
  }
  return text;
}

std::optional<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  Duration total{0};
  while (!text.empty()) {
    const auto part = take_duration_part(text);
    if (!part || *part > Duration::max() - total) return std::nullopt;
    total += *part;
  }
  return total;
}

}  // namespace autopilot
