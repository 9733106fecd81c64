// SPDX-License-Identifier: Apache-2.0

#include "controller/webhook/review_outcome.hpp"

#include <cstddef>

namespace autopilot::controller {

void ReviewCounts::add(ReviewOutcome outcome, Duration took) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < kReviewOutcomes.size(); ++i)
    if (kReviewOutcomes[i].first == outcome) ++figures_.by_outcome[i];
  for (std::size_t i = 0; i < ReviewFigures::kBuckets.size(); ++i)
    if (took <= ReviewFigures::kBuckets[i]) ++figures_.at_most[i];
  ++figures_.reviews;
  figures_.total += took;
}

ReviewFigures ReviewCounts::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace autopilot::controller
