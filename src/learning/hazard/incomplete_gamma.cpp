// SPDX-License-Identifier: Apache-2.0
#include "learning/hazard/incomplete_gamma.hpp"

#include <cmath>
#include <limits>

namespace autopilot::learning {
namespace {

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

}  // namespace

double upper_gamma(double shape, double x) {
  if (!(shape > 0) || !(x >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return 1;
  if (std::isinf(x)) return 0;
  return x < shape + 1 ? 1 - lower_by_series(shape, x) : upper_by_fraction(shape, x);
}

}  // namespace autopilot::learning
