// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>

namespace autopilot::learning::bench {

// Random numbers that are the same on each machine: the distributions of the standard library are not.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}

  // In (0, 1).
  double uniform() { return (static_cast<double>(engine_() >> 11U) + 0.5) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  double normal() { return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform()); }
  double exponential(double mean) { return -mean * std::log(uniform()); }
  bool chance(double probability) { return uniform() < probability; }
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(count));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace autopilot::learning::bench
