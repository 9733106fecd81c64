// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/intervals.hpp"
#include "learning/report/node_time.hpp"
#include "learning/values/labels.hpp"

// How often findings are right according to labels, and what each check finds.
namespace autopilot::learning {

// Findings whose strongest label has one trust.
struct TrustedPrecision {
  double trust = 0;                 // of the labels (trust_of); 0: of all labels from kLeastTrust on
  std::size_t right = 0;            // findings labelled faulty
  std::size_t wrong = 0;            // findings labelled healthy
  std::optional<double> precision;  // right / (right + wrong); nullopt: no label
  Interval bounds{0, 1};            // exact bounds of 95 % (Clopper and Pearson); 0 to 1 without a label
};

// What one check found.
struct CheckFinds {
  std::string check;
  std::size_t validations = 0;  // in which it had an answer
  std::size_t finds = 0;        // in which it found something
  std::size_t unique = 0;       // of these, validations in which no other check found anything
  std::size_t faults = 0;       // faults of the interval with this check
  TrustedPrecision labelled;    // of these faults
};

struct FindingQuality {
  std::size_t findings = 0;    // faults that began in the interval
  std::size_t unlabelled = 0;  // of these, without a label that settles them: neither right nor wrong
  TrustedPrecision all;
  std::vector<TrustedPrecision> by_trust;  // the highest trust first; only with a label
  std::vector<CheckFinds> checks;          // most unique finds first, then most finds, faults, by name
};

// The answer about each fault, ordered by id: `settle` for each node.
[[nodiscard]] std::vector<SettledFault> settle_all(const ReportRecords& records);

// `settled` is ordered by id.
[[nodiscard]] FindingQuality finding_quality(const ReportRecords& records,
                                             std::span<const SettledFault> settled,
                                             const ReportInterval& interval);

}  // namespace autopilot::learning
