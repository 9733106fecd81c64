// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "catalog/catalog.hpp"
#include "core/clock.hpp"
#include "learning/adoption/version.hpp"
#include "learning/records.hpp"

namespace autopilot::cli {

// Stored measurements of an interval: after `since`, up to `until`.
struct ReplayedRecords {
  std::span<const learning::Measurement> measurements;
  WallTime since{}, until{};
};

// What the checks would have found with the threshold at `before` and at its learned value. Each diagnostic
// of a node is judged by its check, with all its measurements and the catalog; findings of other thresholds
// are not counted. An evaluation is one GPU in one diagnostic. Pure.
[[nodiscard]] learning::ProposalReplay replay_threshold(const learning::LearnedThreshold& threshold,
                                                        double before, const ReplayedRecords& records,
                                                        const catalog::Catalog& facts);

// How many of the measurements would have failed with the baseline `before` (null: none fails) and with
// `after`. Pure.
[[nodiscard]] learning::ProposalReplay replay_baseline(const learning::Baseline* before,
                                                       const learning::Baseline& after,
                                                       const ReplayedRecords& records);

}  // namespace autopilot::cli
