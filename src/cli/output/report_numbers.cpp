// SPDX-License-Identifier: Apache-2.0
#include "cli/output/report_numbers.hpp"

#include <array>
#include <charconv>
#include <system_error>

namespace autopilot::cli {

std::string fixed_text(double number, int digits) {
  std::array<char, 400> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, digits);
  return error == std::errc{} ? std::string(text.data(), end) : "?";
}

std::string percent_text(std::optional<double> share, int digits) {
  constexpr double kPercent = 100;
  return share ? fixed_text(*share * kPercent, digits) + " %" : "unknown";
}

std::string counted_text(std::size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string hours_words(std::optional<double> hours) {
  constexpr double kSeconds = 3600;
  constexpr double kMinutes = 60;
  constexpr double kDay = 24;
  if (!hours) return "unknown";
  if (*hours * kMinutes < 2) return fixed_text(*hours * kSeconds, 1) + " s";
  if (*hours < 2) return fixed_text(*hours * kMinutes, 1) + " min";
  if (*hours < 2 * kDay) return fixed_text(*hours, 1) + " h";
  constexpr double kManyDays = 100;
  return fixed_text(*hours / kDay, *hours / kDay < kManyDays ? 1 : 0) + " d";
}

std::string minute_text(WallTime time) {
  std::string text = format_time(time).substr(0, 16);
  text[10] = ' ';
  return text;
}

}  // namespace autopilot::cli
