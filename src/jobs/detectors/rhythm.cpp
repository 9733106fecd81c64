// SPDX-License-Identifier: Apache-2.0
#include "jobs/detectors/rhythm.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "jobs/detectors/series.hpp"

namespace autopilot::jobs {
namespace {

using Complex = std::complex<double>;

constexpr std::size_t kLeastValues = 60;
constexpr std::size_t kMostValues = 600;
constexpr double kShortestPeriod = 0.5;  // reference 2a.5
constexpr double kLongestPeriod = 120;
constexpr double kLeastQuality = 0.35;
constexpr double kPartOfBest = 0.5;   // of the highest autocorrelation
constexpr double kPartOfFirst = 0.8;  // of the autocorrelation at the period, at twice the period
constexpr double kClipSigma = 8;
constexpr double kLeastPairs = 10;
constexpr std::size_t kLagsPerValue = 2;
constexpr std::size_t kKnotSpacing = 10;  // the running median is computed at every 10th value

// In place; the size is a power of 2.
void transform(std::vector<Complex>& values) {
  const std::size_t size = values.size();
  for (std::size_t i = 1, j = 0; i < size; ++i) {
    std::size_t bit = size >> 1;
    for (; (j & bit) != 0; bit >>= 1)
      j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
  for (std::size_t length = 2; length <= size; length *= 2) {
    const double angle = -2 * std::numbers::pi / static_cast<double>(length);
    const Complex turn(std::cos(angle), std::sin(angle));
    for (std::size_t begin = 0; begin < size; begin += length) {
      Complex factor(1, 0);
      for (std::size_t i = 0; i < length / 2; ++i) {
        const Complex even = values[begin + i];
        const Complex odd = values[begin + i + length / 2] * factor;
        values[begin + i] = even + odd;
        values[begin + i + length / 2] = even - odd;
        factor *= turn;
      }
    }
  }
}

// Running median with a width of the longest period, by interpolation between knots.
std::vector<double> trend_of(std::span<const float> values, std::size_t half_width) {
  std::vector<double> knots;
  std::vector<float> part;
  for (std::size_t centre = 0; centre < values.size() + kKnotSpacing; centre += kKnotSpacing) {
    const std::size_t middle = std::min(centre, values.size() - 1);
    const std::size_t from = middle - std::min(middle, half_width);
    const std::size_t to = std::min(values.size(), middle + half_width + 1);
    part.assign(values.begin() + static_cast<std::ptrdiff_t>(from),
                values.begin() + static_cast<std::ptrdiff_t>(to));
    const std::optional<double> median = series_median(part);
    knots.push_back(median.value_or(knots.empty() ? 0 : knots.back()));
  }
  std::vector<double> trend(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t knot = i / kKnotSpacing;
    const double share = static_cast<double>(i % kKnotSpacing) / static_cast<double>(kKnotSpacing);
    trend[i] = knots[knot] + share * (knots[knot + 1] - knots[knot]);
  }
  return trend;
}

// The series without its trend, as the real part; 1 in the imaginary part where a value is known. Empty if
// the values do not vary.
std::vector<Complex> prepared(std::span<const float> values, std::size_t half_width) {
  const std::vector<double> trend = trend_of(values, half_width);
  std::vector<double> known;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i])) known.push_back(static_cast<double>(values[i]) - trend[i]);
  std::vector<double> copy = known;
  const double sigma = series_sigma(copy, 0).value_or(0);
  const double limit = sigma > 0 ? kClipSigma * sigma : HUGE_VAL;
  double mean = 0;
  for (const double value : known)
    mean += std::clamp(value, -limit, limit) / static_cast<double>(known.size());

  std::size_t size = 1;
  while (size < 2 * values.size())
    size *= 2;
  std::vector<Complex> result(size);
  double energy = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    const double value = std::clamp(static_cast<double>(values[i]) - trend[i], -limit, limit) - mean;
    result[i] = {value, 1};
    energy += value * value;
  }
  if (!(energy > 1e-6 * static_cast<double>(known.size()))) result.clear();
  return result;
}

// Autocorrelation at the lags 0 to `lags`, two for each value: the mean product of the pairs that are known,
// relative to the variance. Between the values by the Fourier series: at 1 Hz, steps of 2.5 s have no maximum
// at whole lags.
std::vector<double> autocorrelation(std::vector<Complex> values, std::size_t lags) {
  const std::size_t size = values.size();
  transform(values);
  // The transforms of both real series come out of one; their powers go into one again.
  std::vector<Complex> powers(kLagsPerValue * size);
  for (std::size_t i = 0; i < size; ++i) {
    const Complex here = values[i];
    const Complex mirrored = std::conj(values[(size - i) % size]);
    const Complex power{std::norm((here + mirrored) / 2.0), std::norm((here - mirrored) / 2.0)};
    if (i == size / 2) {  // belongs to both halves
      powers[i] = powers[powers.size() - i] = power / 2.0;
    } else {
      powers[i < size / 2 ? i : powers.size() - size + i] = power;
    }
  }
  transform(powers);
  std::vector<double> result(lags + 1, 0.0);
  const double variance = powers[0].real() / powers[0].imag();
  for (std::size_t lag = 0; lag <= lags; ++lag) {
    const double pairs = powers[lag].imag() / static_cast<double>(size);
    if (pairs > kLeastPairs) result[lag] = powers[lag].real() / powers[lag].imag() / variance;
  }
  return result;
}

bool is_local_maximum(const std::vector<double>& acf, std::size_t lag) {
  return lag >= 1 && lag + 1 < acf.size() && acf[lag] >= acf[lag - 1] && acf[lag] > acf[lag + 1];
}

// Place of a maximum between the lags, by a parabola through three of them.
double refined(const std::vector<double>& acf, std::size_t lag) {
  const double left = acf[lag - 1];
  const double right = acf[lag + 1];
  const double bend = left - 2 * acf[lag] + right;
  if (bend >= 0) return static_cast<double>(lag);
  return static_cast<double>(lag) + std::clamp(0.5 * (left - right) / bend, -0.5, 0.5);
}

// The highest local maximum near `place`.
std::optional<std::size_t> maximum_near(const std::vector<double>& acf, double place, double within) {
  std::optional<std::size_t> best;
  const double from = std::max(1.0, std::floor(place - within));
  for (auto lag = static_cast<std::size_t>(from); static_cast<double>(lag) <= place + within; ++lag)
    if (is_local_maximum(acf, lag) && (!best || acf[lag] > acf[*best])) best = lag;
  return best;
}

// The shortest period, in lags, that is about as good as the best.
std::optional<Rhythm> first_period(const std::vector<double>& acf, double shortest, double longest) {
  const auto first = static_cast<std::size_t>(std::floor(shortest));
  double best = 0;
  for (std::size_t lag = first; static_cast<double>(lag) <= longest; ++lag)
    if (is_local_maximum(acf, lag)) best = std::max(best, acf[lag]);
  if (best < kLeastQuality) return std::nullopt;
  for (std::size_t lag = first; static_cast<double>(lag) <= longest; ++lag) {
    if (!is_local_maximum(acf, lag) || acf[lag] < std::max(kPartOfBest * best, kLeastQuality)) continue;
    double period = refined(acf, lag);
    const auto twice = maximum_near(acf, 2 * period, std::max(1.0, 0.1 * period));
    if (!twice || acf[*twice] < kPartOfFirst * acf[lag]) continue;
    const double quality = std::min(std::max(acf[lag], acf[*twice]), 1.0);
    // Multiples of the period place it more finely than one lag.
    for (double times = 2; times * period <= 2 * longest; times *= 2) {
      const auto multiple = maximum_near(acf, times * period, std::max(1.0, 0.1 * period));
      if (!multiple || acf[*multiple] < kPartOfBest * quality) break;
      period = refined(acf, *multiple) / times;
    }
    if (period >= shortest && period <= longest) return Rhythm{period, quality};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Rhythm> find_rhythm(std::span<const float> values, double interval_s) {
  if (!(interval_s > 0) || !std::isfinite(interval_s)) return std::nullopt;
  if (values.size() > kMostValues) values = values.subspan(values.size() - kMostValues);
  const auto known = static_cast<std::size_t>(
      std::count_if(values.begin(), values.end(), [](float value) { return std::isfinite(value); }));
  if (known < kLeastValues || known * 3 < values.size() * 2) return std::nullopt;
  const auto half_width = static_cast<std::size_t>(std::max(kLongestPeriod / 2 / interval_s, 5.0));
  std::vector<Complex> series = prepared(values, half_width);
  if (series.empty()) return std::nullopt;
  const std::vector<double> acf = autocorrelation(std::move(series), kLagsPerValue * values.size() * 9 / 10);
  const double lag_s = interval_s / static_cast<double>(kLagsPerValue);
  const double shortest = std::max(2 * interval_s, kShortestPeriod) / lag_s;
  const double longest =
      std::min(kLongestPeriod, 0.4 * interval_s * static_cast<double>(values.size())) / lag_s;
  std::optional<Rhythm> rhythm = first_period(acf, shortest, longest);
  if (rhythm) rhythm->period_s *= lag_s;
  return rhythm;
}

void RhythmTracker::add(float value) {
  if (values_.size() < kValues) {
    values_.push_back(value);
    return;
  }
  values_[next_] = value;
  next_ = (next_ + 1) % kValues;
}

std::optional<Rhythm> RhythmTracker::evaluate() {
  std::vector<float> ordered(values_.begin() + static_cast<std::ptrdiff_t>(next_), values_.end());
  ordered.insert(ordered.end(), values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(next_));
  newest_[evaluations_++ % kEvaluations] = find_rhythm(ordered);
  if (evaluations_ < kEvaluations) return std::nullopt;
  double lowest = HUGE_VAL;
  double highest = 0;
  for (const auto& rhythm : newest_) {
    if (!rhythm) return std::nullopt;
    lowest = std::min(lowest, rhythm->period_s);
    highest = std::max(highest, rhythm->period_s);
  }
  if (highest > lowest * (1 + kTolerance)) return std::nullopt;
  return newest_[(evaluations_ - 1) % kEvaluations];
}

void RhythmTracker::restart() {
  *this = RhythmTracker();
}

}  // namespace autopilot::jobs
