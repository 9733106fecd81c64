// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/pcg.hpp"

#include <cmath>

namespace autopilot::simulated_jobs {

double natural_log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // 0.5 <= mantissa < 1
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1);
  const double square = z * z;
  double term = z;
  double sum = 0;
  for (int n = 1; n <= 11; n += 2) {
    sum += term / n;
    term *= square;
  }
  return 2 * sum + exponent * 0.69314718055994531;
}

double wave(double turns) {
  const double phase = turns - std::floor(turns);
  return phase < 0.5 ? 16 * phase * (0.5 - phase) : -16 * (phase - 0.5) * (1 - phase);
}

// The finaliser of SplitMix64.
Pcg Pcg::mixed(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t mix = seed + 0x9e3779b97f4a7c15ULL * (stream + 1);
  mix = (mix ^ (mix >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  mix = (mix ^ (mix >> 27U)) * 0x94d049bb133111ebULL;
  return {mix ^ (mix >> 31U), stream};
}

double Pcg::exponential(double mean) {
  return -mean * natural_log((next() + 1.0) * (1.0 / 4294967296.0));
}

int Pcg::poisson(double mean) {
  constexpr int kMost = 100'000;
  if (!(mean > 0)) return 0;
  double time = 0;
  int events = 0;
  while (events < kMost) {
    time += exponential(1);
    if (time > mean) break;
    ++events;
  }
  return events;
}

}  // namespace autopilot::simulated_jobs
