// SPDX-License-Identifier: Apache-2.0
#include "learning/intervals/intervals.hpp"

#include <algorithm>
#include <cmath>

namespace autopilot::learning {
namespace {

constexpr double kTail = 0.025;
constexpr double kNormal = 1.959963984540054;  // its 97.5 % quantile
constexpr std::uint64_t kMostExactEvents = 1000;
constexpr int kBisections = 100;

// P(at most `events`) of a Poisson distribution.
double poisson_at_most(std::uint64_t events, double mean) {
  double term = -mean;  // log
  double sum = std::exp(term);
  for (std::uint64_t k = 1; k <= events; ++k) {
    term += std::log(mean / static_cast<double>(k));
    sum += std::exp(term);
  }
  return std::min(sum, 1.0);
}

// The mean at which P(at most `events`) falls to p.
double poisson_mean(std::uint64_t events, double p) {
  double low = 0;
  double high = 2 * static_cast<double>(events) + 20;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (poisson_at_most(events, middle) > p ? low : high) = middle;
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

Interval poisson_bounds(std::uint64_t events) {
  if (events == 0) return {0, -std::log(0.05)};
  const auto count = static_cast<double>(events);
  if (events > kMostExactEvents) return {many_events(count, -kNormal), many_events(count + 1, kNormal)};
  return {poisson_mean(events - 1, 1 - kTail), poisson_mean(events, kTail)};
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

double rule_of_three(std::uint64_t trials) {
  return trials == 0 ? 1 : std::min(1.0, -std::log(0.05) / static_cast<double>(trials));
}

}  // namespace autopilot::learning
