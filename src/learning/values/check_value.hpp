// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "learning/records.hpp"
#include "learning/values/labels.hpp"

// What a check is worth: how often it is right, and what it alone finds.
namespace autopilot::learning {

// gating: its failure takes a node out of service. advisory: it is reported only.
enum class CheckRole : std::uint8_t { gating, advisory };

// How often the findings of a check on one kind of machine are right.
struct CheckPrecision {
  std::string check;
  std::string kind;              // kind_text
  std::size_t right = 0;         // findings labelled faulty
  std::size_t wrong = 0;         // findings labelled healthy
  double mean = 0.5;             // of the posterior Beta(1 + right, 1 + wrong)
  double low = 0, high = 1;      // its 5 and 95 % quantiles
  double is_mostly_wrong = 0.5;  // probability that the precision is below 0.5
};

// From settled faults of machines of the kind with a trust of at least kLeastTrust.
[[nodiscard]] CheckPrecision precision_of(const std::string& check, const std::string& kind,
                                          std::span<const SettledFault> faults);

// The role that follows: advisory if is_mostly_wrong is above 0.9, gating if `low` is above 0.9; else the
// current one. A hard rule (is_hard_rule) stays gating.
[[nodiscard]] CheckRole next_role(const CheckPrecision& precision, CheckRole current);

// What a check finds that no cheaper check finds.
struct Redundancy {
  std::string check;
  std::size_t validations = 0;  // in which it ran, the latest kMostValidations
  std::size_t finds = 0;        // in which it failed
  std::size_t unique = 0;       // of these, without a failure of a cheaper check
  double unique_bound = 1;      // upper bound of 95 % of the share of unique finds of validations
  // No unique find in kMostValidations: it can be left out, at most at unique_bound of the validations.
  [[nodiscard]] bool is_redundant() const;
};
inline constexpr std::size_t kMostValidations = 500;

// `by_cost`: checks, the cheapest first; `check` is one of them, else it has no cheaper check. Only
// validations in which the check is not unknown count. The order of validations has no influence.
[[nodiscard]] Redundancy redundancy_of(const std::string& check, std::span<const std::string> by_cost,
                                       std::span<const Validation> validations);

}  // namespace autopilot::learning
