// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

namespace autopilot::simulated_jobs {

// Random numbers that are equal on all machines: PCG-XSH-RR, and distributions of additions and
// multiplications only. Two streams of one seed are independent. Not thread-safe.
class Pcg {
 public:
  Pcg(std::uint64_t seed, std::uint64_t stream) : increment_((stream << 1U) | 1U) {
    next();
    state_ += seed;
    next();
  }

  // Seeds that follow each other give unrelated numbers.
  static Pcg mixed(std::uint64_t seed, std::uint64_t stream);

  std::uint32_t next() {
    const std::uint64_t old = state_;
    state_ = old * 6364136223846793005ULL + increment_;
    const auto shifted = static_cast<std::uint32_t>(((old >> 18U) ^ old) >> 27U);
    return std::rotr(shifted, static_cast<int>(old >> 59U));
  }

  // 0 <= x < 1.
  double uniform() { return next() * (1.0 / 4294967296.0); }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  // 0 <= x < n; 0 for n = 0.
  std::uint32_t below(std::uint32_t n) {
    return static_cast<std::uint32_t>((static_cast<std::uint64_t>(next()) * n) >> 32U);
  }
  bool chance(double probability) { return uniform() < probability; }

  // Mean 0, deviation 1, nearly normal: the sum of four bytes of one number. Never beyond 3.46.
  float noise() {
    const std::uint32_t bits = next();
    const auto sum =
        static_cast<float>((bits & 255U) + ((bits >> 8U) & 255U) + ((bits >> 16U) & 255U) + (bits >> 24U));
    return (sum - 510.0F) * (1.0F / 147.8F);
  }
  // Mean `mean`, at most 22 times of it.
  double exponential(double mean);
  // A Poisson number, at most 100,000.
  int poisson(double mean);

 private:
  std::uint64_t state_ = 0;
  std::uint64_t increment_;
};

// The natural logarithm of a number above 0, equal on all machines; error below 1e-7.
[[nodiscard]] double natural_log(double x);

// A wave of amplitude 1 around 0 with the period 1, equal on all machines: parabolas in place of a sine.
[[nodiscard]] double wave(double turns);

}  // namespace autopilot::simulated_jobs
