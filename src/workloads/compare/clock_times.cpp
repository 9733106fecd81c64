// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/clock_times.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/parse.hpp"

namespace autopilot::workloads::compare {
namespace {

constexpr double kDay = 86'400;
constexpr double kHalfDay = 43'200;
constexpr double kLongestStep = 1e10;  // three centuries: a damaged time, and the sum stays finite

std::optional<double> usual_step(std::vector<double> steps) {
  std::erase_if(steps, [](double step) { return step <= 0; });
  if (steps.empty()) return std::nullopt;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

}  // namespace

std::optional<double> parse_clock(std::string_view text) {
  text = trim(text);
  std::optional<bool> is_afternoon;
  if (const auto space = text.find(' '); space != std::string_view::npos) {
    const std::string half = to_lower(trim(text.substr(space)));
    if (half != "am" && half != "pm") return std::nullopt;
    is_afternoon = half == "pm";
    text = text.substr(0, space);
  }
  const auto parts = split(text, ':');
  if (parts.size() != 3) return std::nullopt;
  std::array<unsigned, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parse_number<unsigned>(parts[i]);
    if (!number || parts[i].size() > 2 || *number >= (i == 0 ? 24U : 60U)) return std::nullopt;
    numbers[i] = *number;
  }
  if (is_afternoon) {
    if (numbers[0] < 1 || numbers[0] > 12) return std::nullopt;
    numbers[0] = numbers[0] % 12 + (*is_afternoon ? 12 : 0);
  }
  return numbers[0] * 3600.0 + numbers[1] * 60.0 + numbers[2];
}

PlacedTimes place_times(const std::vector<double>& times, bool is_time_of_day) {
  PlacedTimes placed;
  if (times.empty()) return placed;
  std::vector<double> steps;
  for (std::size_t i = 1; i < times.size(); ++i) {
    double step = times[i] - times[i - 1];
    if (is_time_of_day && step < 0) step += kDay;
    steps.push_back(std::clamp(step, 0.0, kLongestStep));
  }
  placed.interval_s = usual_step(steps);
  placed.seconds.push_back(0);
  for (double step : steps) {
    const double usual = placed.interval_s.value_or(0);
    const bool is_lost_meridiem =
        is_time_of_day && usual > 0 && std::abs(step - kHalfDay - usual) <= std::max(1.0, usual / 4);
    if (is_lost_meridiem)
      placed.gaps.push_back({placed.seconds.back(), step, true});
    else if (usual > 0 && step > 1.5 * usual)
      placed.gaps.push_back({placed.seconds.back(), step, false});
    if (is_lost_meridiem) step -= kHalfDay;
    placed.seconds.push_back(placed.seconds.back() + step);
  }
  return placed;
}

}  // namespace autopilot::workloads::compare
