// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "controller/webhook/handler_answer.hpp"
#include "core/clock.hpp"

namespace autopilot::controller {

// How reviews of one webhook ended since the start, and how long they took here.
struct ReviewFigures {
  // Upper ends; longer ones are in none.
  static constexpr std::array<Duration, 6> kBuckets{
      std::chrono::microseconds{100}, std::chrono::microseconds{500}, std::chrono::milliseconds{1},
      std::chrono::milliseconds{5},   std::chrono::milliseconds{20},  std::chrono::milliseconds{100}};

  std::array<std::uint64_t, kReviewOutcomes.size()> by_outcome{};  // in the order of kReviewOutcomes
  std::array<std::uint64_t, kBuckets.size()> at_most{};            // each with those of the buckets before it
  std::uint64_t reviews = 0;
  Duration total{0};
};

// Thread-safe.
class ReviewCounts {
 public:
  void add(ReviewOutcome outcome, Duration took);
  [[nodiscard]] ReviewFigures figures() const;

 private:
  mutable std::mutex mutex_;
  ReviewFigures figures_;
};

}  // namespace autopilot::controller
