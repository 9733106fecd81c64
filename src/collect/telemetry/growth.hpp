// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "jobs/records.hpp"

namespace autopilot::collect {

// The growth of a counter between two readings. NaN: one of them is missing, or the counter was reset in
// between: a counter that falls did not grow by a negative amount.
template <class Number>
[[nodiscard]] float grown(const std::optional<Number>& before, const std::optional<Number>& now) {
  if (!before || !now || *now < *before) return jobs::kMissing;
  return static_cast<float>(*now - *before);
}
[[nodiscard]] inline float grown(double before, double now) {
  return now >= before ? static_cast<float>(now - before) : jobs::kMissing;
}

// The mean of values that arrive one by one; values that are not numbers are not measured.
class Mean {
 public:
  void add(double value) {
    if (value != value) return;
    sum_ += value;
    ++count_;
  }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  // NaN: nothing was measured.
  [[nodiscard]] float value() const {
    return count_ == 0 ? jobs::kMissing : static_cast<float>(sum_ / count_);
  }

 private:
  double sum_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace autopilot::collect
