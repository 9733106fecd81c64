// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/word_table.hpp"

namespace autopilot::controller {

enum class ReviewOutcome : std::uint8_t {
  patched,
  unchanged,       // the pod has already what it would get
  no_accelerator,  // it asks for none
  left_out,        // no new pod, or one that cannot have it; a warning says why where somebody may wonder
  not_ready,       // we do not know yet what to give
  oversized,
  malformed,
};

inline constexpr WordTable<ReviewOutcome, 7> kReviewOutcomes{
    {{ReviewOutcome::patched, "patched"},
     {ReviewOutcome::unchanged, "unchanged"},
     {ReviewOutcome::no_accelerator, "no_accelerator"},
     {ReviewOutcome::left_out, "left_out"},
     {ReviewOutcome::not_ready, "not_ready"},
     {ReviewOutcome::oversized, "oversized"},
     {ReviewOutcome::malformed, "malformed"}}};

// An AdmissionReview that always allows: whatever comes in, no pod is kept from being made.
struct HandlerAnswer {
  ReviewOutcome outcome = ReviewOutcome::malformed;
  std::string body;
};

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
