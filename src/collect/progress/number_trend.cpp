// SPDX-License-Identifier: Apache-2.0
#include "collect/progress/number_trend.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/parse.hpp"

namespace autopilot::collect {
namespace {

constexpr std::size_t kMaxShape = 256;  // bytes

bool is_digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

// Part of a decimal fraction, a time, a date, an address or a version.
bool is_part(std::string_view line, std::size_t begin, std::size_t end) {
  static constexpr std::string_view kJoints = ".:-";
  const bool joins_before =
      begin >= 2 && kJoints.find(line[begin - 1]) != std::string_view::npos && is_digit_at(line, begin - 2);
  const bool joins_behind =
      end < line.size() && kJoints.find(line[end]) != std::string_view::npos && is_digit_at(line, end + 1);
  return joins_before || joins_behind;
}

struct Parts {
  std::string shape;                 // runs of digits are one "#"
  std::vector<std::int64_t> values;  // of whole numbers
};

Parts parts_of(std::string_view line) {
  Parts parts;
  for (std::size_t at = 0; at < line.size() && parts.shape.size() < kMaxShape;) {
    if (!is_digit_at(line, at)) {
      // Columns are aligned with blanks.
      if (line[at] != ' ' || !parts.shape.ends_with(' ')) parts.shape += line[at];
      ++at;
      continue;
    }
    std::size_t end = at;
    while (is_digit_at(line, end))
      ++end;
    parts.shape += '#';
    const auto value = parse_number<std::int64_t>(line.substr(at, end - at));
    if (value && !is_part(line, at, end) && parts.values.size() < NumberTrend::kMaxNumbers)
      parts.values.push_back(*value);
    at = end;
  }
  return parts;
}

// Lines that repeat whether a job gets further or not.
bool is_about_waiting(std::string_view line) {
  static constexpr std::array kWords{"uptime",  "alive", "heartbeat", "ping",    "poll",
                                     "wait",    "retry", "retries",   "attempt", "health",
                                     "elapsed", "nccl",  "http",      "get /",   "watchdog",
                                     "timeout", "queue", "request",   "sleep",   "monitor"};
  const std::string lower = to_lower(line);
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

// It rises by one, by a thousand, by a million or by 1e9 a second.
bool is_clock(std::int64_t growth, double seconds) {
  double rate = static_cast<double>(growth) / seconds;
  while (rate >= 500)
    rate /= 1000;
  return rate > 0.9 && rate < 1.1;
}

}  // namespace

NumberTrend::Shape& NumberTrend::shape(std::string text, const std::vector<std::int64_t>& values,
                                       WallTime time) {
  ++used_;
  auto known =
      std::find_if(shapes_.begin(), shapes_.end(), [&](const Shape& one) { return one.text == text; });
  if (known != shapes_.end()) {
    known->used = used_;
    return *known;
  }
  if (shapes_.size() < kMaxShapes) {
    known = shapes_.insert(shapes_.end(), Shape{});
  } else {
    known = std::min_element(shapes_.begin(), shapes_.end(),
                             [](const Shape& a, const Shape& b) { return a.used < b.used; });
  }
  *known = Shape{.text = std::move(text), .used = used_, .numbers = {}};
  for (const std::int64_t value : values)
    known->numbers.push_back({.value = value, .first_value = value, .first_time = time});
  return *known;
}

// True: `value` continues a trend.
bool NumberTrend::follow(Number& number, std::int64_t value, WallTime time) {
  const std::int64_t difference = value - number.value;
  if (difference <= 0 || difference != number.difference) {
    number = {.value = value,
              .difference = difference,
              .lines = 2,
              .first_value = number.value,
              .first_time = time};
    return false;
  }
  number.value = value;
  number.lines = std::min(number.lines + 1, kLines);
  if (number.lines < kLines) return false;
  const double seconds = to_seconds(time - number.first_time);
  // first_time is the time of the second line.
  return seconds >= 1 && !is_clock(value - number.first_value - difference, seconds);
}

std::optional<CounterMatch> NumberTrend::add(std::string_view line, WallTime time) {
  if (line.size() > 1024 || is_about_waiting(line)) return std::nullopt;
  Parts parts = parts_of(line);
  if (parts.values.empty()) return std::nullopt;
  Shape& known = shape(std::move(parts.shape), parts.values, time);
  std::optional<CounterMatch> found;
  for (std::size_t i = 0; i < std::min(parts.values.size(), known.numbers.size()); ++i)
    if (follow(known.numbers[i], parts.values[i], time) && !found)
      found = CounterMatch{.kind = CounterKind::learned,
                           .key = "learned " + std::to_string(i) + " " + known.text,
                           .number = parts.values[i]};
  return found;
}

}  // namespace autopilot::collect
