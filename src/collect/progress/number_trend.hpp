// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collect/progress/step_patterns.hpp"
#include "core/clock.hpp"

namespace autopilot::collect {

// Finds progress in a log of unknown form: a whole number that rises by a constant in lines of otherwise
// equal shape. A number that rises as a clock does is left out. Bounded: kMaxShapes shapes, the oldest
// makes room. Not thread-safe.
class NumberTrend {
 public:
  static constexpr std::size_t kMaxShapes = 64;
  static constexpr std::size_t kMaxNumbers = 8;  // of a line
  static constexpr int kLines = 10;              // with the same difference before it is progress

  [[nodiscard]] std::optional<CounterMatch> add(std::string_view line, WallTime time);

 private:
  struct Number {
    std::int64_t value = 0;
    std::int64_t difference = 0;
    int lines = 1;
    std::int64_t first_value = 0;  // of the lines with this difference
    WallTime first_time{};
  };
  struct Shape {
    std::string text;
    std::uint64_t used = 0;
    std::vector<Number> numbers;
  };

  [[nodiscard]] Shape& shape(std::string text, const std::vector<std::int64_t>& values, WallTime time);
  [[nodiscard]] static bool follow(Number& number, std::int64_t value, WallTime time);

  std::vector<Shape> shapes_;
  std::uint64_t used_ = 0;
};

}  // namespace autopilot::collect
