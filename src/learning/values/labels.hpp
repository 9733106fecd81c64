// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "learning/records.hpp"

// From labels of different trust to one answer for each fault.
namespace autopilot::learning {

// Probability that a label of the source is right: 0.95 for rma and vendor_diagnosis, 0.9 repeat_test, 0.8
// exclusion, 0.7 user, 0.5 agreement.
[[nodiscard]] double trust_of(LabelSource source);

// Labels below it settle nothing.
inline constexpr double kLeastTrust = 0.7;
// A healthy label counts only with as much successful job time on the node after the fault was found, before
// an action: nodes that were taken out of service could otherwise never turn out healthy.
inline constexpr Duration kHealthyJobTime = std::chrono::hours(24);

// What is known about a fault after all labels.
struct SettledFault {
  std::string fault;  // id
  std::string check;
  LabelAnswer answer = LabelAnswer::unclear;
  double trust = 0;          // of the label that settles it; 0: unclear
  bool is_disputed = false;  // sources of at least kLeastTrust disagree; of each, its latest label counts
  FaultClass kind = FaultClass::unknown;
  WallTime time{};  // of the detection
};

// Successful job time on the node of the fault after it was detected, up to its end or the first repair.
[[nodiscard]] Duration healthy_job_time(const Fault& fault, std::span<const NodeJob> jobs,
                                        std::span<const Repair> repairs);

// Of each fault, the label of the highest trust settles it; of equal trust the latest, then by id. A missing
// label is unclear, never healthy. A healthy label without kHealthyJobTime is unclear. Ordered by id; the
// order of the input has no influence.
[[nodiscard]] std::vector<SettledFault> settle(std::span<const Fault> faults, std::span<const Label> labels,
                                               std::span<const NodeJob> jobs,
                                               std::span<const Repair> repairs);

}  // namespace autopilot::learning
