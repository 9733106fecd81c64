// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace autopilot::controller
