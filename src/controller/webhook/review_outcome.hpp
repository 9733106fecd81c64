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
  unchanged,       // the pod already has the additions
  no_accelerator,  // it requests none
  left_out,   // not a new pod, or the additions are impossible; a warning gives the reason where it is not
              // obvious
  not_ready,  // the settings are not known yet
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

// A response that always allows the request: no input prevents the creation of a pod.
struct HandlerAnswer {
  ReviewOutcome outcome = ReviewOutcome::malformed;
  std::string body;
};

// Results and durations of the reviews of one webhook since the start.
struct ReviewFigures {
  // Upper bounds; longer durations are in no bucket.
  static constexpr std::array<Duration, 6> kBuckets{
      std::chrono::microseconds{100}, std::chrono::microseconds{500}, std::chrono::milliseconds{1},
      std::chrono::milliseconds{5},   std::chrono::milliseconds{20},  std::chrono::milliseconds{100}};

  std::array<std::uint64_t, kReviewOutcomes.size()> by_outcome{};  // in the order of kReviewOutcomes
  std::array<std::uint64_t, kBuckets.size()> at_most{};            // cumulative
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
