// SPDX-License-Identifier: Apache-2.0
#include "workloads/compare/series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace autopilot::workloads::compare {
namespace {

constexpr std::size_t kParts = 20;
constexpr double kStudent = 2.093;  // 97.5 % of Student's t with 19 degrees of freedom

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double nearest_rank(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[rank == 0 ? 0 : rank - 1];
}

// Square of the standard error of the mean, from the means of equal parts.
double squared_error(std::span<const double> values) {
  std::array<double, kParts> parts{};
  for (std::size_t i = 0; i < kParts; ++i) {
    const std::size_t begin = values.size() * i / kParts;
    parts[i] = mean_of(values.subspan(begin, values.size() * (i + 1) / kParts - begin));
  }
  const double mean = mean_of(parts);
  double squares = 0;
  for (const double part : parts)
    squares += (part - mean) * (part - mean);
  return squares / (kParts - 1) / kParts;
}

}  // namespace

std::string to_string(const Source& source) {
  std::string text = source.file;
  if (source.first_line > 0) text += ":" + std::to_string(source.first_line);
  if (source.last_line > source.first_line) text += "-" + std::to_string(source.last_line);
  if (source.column > 0) text += ", column " + std::to_string(source.column);
  if (!source.name.empty())
    text += (source.column > 0 ? " (" : ", ") + source.name + (source.column > 0 ? ")" : "");
  return text;
}

std::optional<Statistics> statistics_of(std::span<const double> values) {
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  Statistics found;
  found.readings = sorted.size();
  found.mean = mean_of(values);
  double squares = 0;
  for (const double value : values)
    squares += (value - found.mean) * (value - found.mean);
  found.deviation = std::sqrt(squares / static_cast<double>(values.size()));
  found.median = nearest_rank(sorted, 0.5);
  found.p95 = nearest_rank(sorted, 0.95);
  found.least = sorted.front();
  found.most = sorted.back();
  return found;
}

double share_above(std::span<const double> values, double limit) {
  if (values.empty()) return 0;
  const auto above =
      std::count_if(values.begin(), values.end(), [limit](double value) { return value > limit; });
  return static_cast<double>(above) / static_cast<double>(values.size());
}

std::optional<double> span_of(const Series& series) {
  if (series.seconds.empty()) return std::nullopt;
  return series.seconds.back() - series.seconds.front();
}

std::optional<Interval> difference_of_means(std::span<const double> a, std::span<const double> b) {
  if (a.size() < 2 * kParts || b.size() < 2 * kParts) return std::nullopt;
  const double difference = mean_of(b) - mean_of(a);
  const double half = kStudent * std::sqrt(squared_error(a) + squared_error(b));
  return Interval{difference - half, difference + half};
}

void assume_times(Series& series, double interval_s) {
  series.seconds.resize(series.values.size());
  for (std::size_t i = 0; i < series.seconds.size(); ++i)
    series.seconds[i] = static_cast<double>(i) * interval_s;
  series.interval_s = interval_s;
  series.has_assumed_times = true;
}

int digits_that_differ(double a, double b) {
  constexpr int kMost = 12;
  int digits = kUsualDigits;
  while (a != b && digits < kMost && number_text(a, digits) == number_text(b, digits))
    ++digits;
  return digits;
}

std::string number_text(double number, int significant) {
  if (number == 0) return "0";
  if (!std::isfinite(number)) return "not a number";
  const double size = std::abs(number);
  const int before = static_cast<int>(std::floor(std::log10(size))) + 1;
  const int digits = std::clamp(significant - before, 0, significant + 5);
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, number);
  std::string out = text.data();
  if (out.find('.') != std::string::npos) {
    out.erase(out.find_last_not_of('0') + 1);
    if (out.ends_with('.')) out.pop_back();
  }
  return out == "-0" ? "0" : out;
}

}  // namespace autopilot::workloads::compare
