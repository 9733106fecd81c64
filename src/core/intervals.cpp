// SPDX-License-Identifier: Apache-2.0
#include "core/intervals.hpp"

#include <cmath>
#include <limits>

namespace autopilot {
namespace {

constexpr double kTail = 0.025;
constexpr double kNormalOfTail = 1.959963984540054;  // the normal quantile of 97.5 %
constexpr std::uint64_t kMostExactEvents = 1000;
constexpr int kBisections = 100;
constexpr int kMostGammaTerms = 100'000;  // both expansions need about sqrt(shape) terms near x = shape
constexpr double kGammaTolerance = 1e-16;

// x^shape e^-x / Gamma(shape)
double gamma_front(double shape, double x) {
  return std::exp(shape * std::log(x) - x - std::lgamma(shape));
}

// Lower function by its power series; converges fast for x < shape + 1.
double lower_by_series(double shape, double x) {
  double term = 1 / shape;
  double sum = term;
  for (int i = 1; i < kMostGammaTerms && term > sum * kGammaTolerance; ++i) {
    term *= x / (shape + i);
    sum += term;
  }
  return sum * gamma_front(shape, x);
}

// Upper function by its continued fraction, evaluated from the front (method of Lentz); for x >= shape + 1.
double upper_by_fraction(double shape, double x) {
  constexpr double tiny = std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();
  double b = x + 1 - shape;
  double c = 1 / tiny;
  double d = 1 / b;
  double value = d;
  for (int i = 1; i < kMostGammaTerms; ++i) {
    const double a = -i * (i - shape);
    b += 2;
    d = a * d + b;
    if (std::abs(d) < tiny) d = tiny;
    c = b + a / c;
    if (std::abs(c) < tiny) c = tiny;
    d = 1 / d;
    const double factor = d * c;
    value *= factor;
    if (std::abs(factor - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return value * gamma_front(shape, x);
}

// The x at which Q(shape, x) falls to p. Q(n + 1, x) is P(at most n events) of a Poisson distribution of mean
// x.
double gamma_quantile(double shape, double p) {
  double low = 0;
  double high = 2 * shape + 20;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (upper_gamma(shape, middle) > p ? low : high) = middle;
  }
  return (low + high) / 2;
}

// Wilson and Hilferty: the cube root of a gamma variable is nearly normal.
double many_events(double events, double normal) {
  const double root = 1 - 1 / (9 * events) + normal / (3 * std::sqrt(events));
  return events * root * root * root;
}

// Continued fraction of the incomplete beta function, by Lentz's method.
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 10'000;
  const auto kept = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / kept(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int i = 1; i <= kMostTerms; ++i) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / kept(1 + even * d);
    c = kept(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / kept(1 + odd * d);
    c = kept(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return fraction;
}

}  // namespace

double upper_gamma(double shape, double x) {
  if (!(shape > 0) || !(x >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return 1;
  if (std::isinf(x)) return 0;
  return x < shape + 1 ? 1 - lower_by_series(shape, x) : upper_by_fraction(shape, x);
}

Interval poisson_bounds(std::uint64_t events) {
  const auto count = static_cast<double>(events);
  if (events > kMostExactEvents)
    return {many_events(count, -kNormalOfTail), many_events(count + 1, kNormalOfTail)};
  return {events == 0 ? 0 : gamma_quantile(count, 1 - kTail), gamma_quantile(count + 1, kTail)};
}

double beta_below(double hits, double misses, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double scale = std::exp(std::lgamma(hits + misses) - std::lgamma(hits) - std::lgamma(misses) +
                                hits * std::log(x) + misses * std::log1p(-x));
  // The fraction converges fast on the side of the mean.
  if (x < (hits + 1) / (hits + misses + 2)) return scale * beta_fraction(hits, misses, x) / hits;
  return 1 - scale * beta_fraction(misses, hits, 1 - x) / misses;
}

double beta_quantile(double hits, double misses, double p) {
  double low = 0;
  double high = 1;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (beta_below(hits, misses, middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace autopilot
