// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "learning/baseline/baseline.hpp"
#include "learning/proposal.hpp"
#include "learning/records.hpp"
#include "learning/threshold/threshold.hpp"
#include "learning/values/check_value.hpp"

// From records to proposals. The same records give the same proposal, whatever their order.
namespace autopilot::learning {

struct BaselineProposal {
  Proposal proposal;
  Baseline baseline;
};

// A new version of the baseline for machines of `key.kind` (a general kind if this one is sparse), or nullopt
// if nothing changes. `parent`: the version in use, or null. `now`: when the records were read.
// `malformed`, `not_found`: as contributions_of and fit_reference. `conflict`: the results are two groups;
// the text names them.
[[nodiscard]] Result<std::optional<BaselineProposal>> propose_baseline(
    std::span<const Measurement> measurements, std::span<const Fault> faults,
    const std::set<std::string>& probation, const MetricKey& key, const Baseline* parent, WallTime now);

struct ThresholdInUse {
  std::string check;
  std::string metric;
  std::string kind;
  double value = 0;
  std::uint32_t version = 0;
};

struct ThresholdProposal {
  Proposal proposal;
  Threshold threshold;
};

// A threshold for the budget, or nullopt if it differs by at most 1 % from the value in use. `unsupported`:
// the check is a hard rule. Otherwise the errors of rate_of and learn_threshold.
[[nodiscard]] Result<std::optional<ThresholdProposal>> propose_threshold(
    std::span<const Score> scores, std::span<const LabelledFault> faults, const ThresholdInUse& in_use,
    const Budget& budget, WallTime now);

struct CheckInUse {
  std::string check;
  std::string kind;
  CheckRole role = CheckRole::gating;
  std::uint32_t version = 0;
};

// Another role of a check, or nullopt. `settled`: of settle, of machines of the kind.
[[nodiscard]] std::optional<Proposal> propose_role(std::span<const SettledFault> settled,
                                                   const CheckInUse& in_use, WallTime now);

}  // namespace autopilot::learning
