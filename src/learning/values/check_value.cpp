// SPDX-License-Identifier: Apache-2.0
#include "learning/values/check_value.hpp"

#include <algorithm>
#include <tuple>

#include "core/intervals.hpp"
#include "learning/intervals/intervals.hpp"
#include "learning/threshold/threshold.hpp"

namespace autopilot::learning {
namespace {

bool is_found_by(const Validation& validation, std::string_view check) {
  return std::ranges::any_of(validation.checks, [&](const CheckOutcome& outcome) {
    return outcome.check == check && (outcome.health == Health::degraded || outcome.health == Health::failed);
  });
}

bool has_answer(const Validation& validation, std::string_view check) {
  return is_found_by(validation, check) ||
         std::ranges::any_of(validation.checks, [&](const CheckOutcome& outcome) {
           return outcome.check == check && outcome.health == Health::healthy;
         });
}

// The latest validations with an answer of the check.
std::vector<const Validation*> latest_validations(std::string_view check,
                                                  std::span<const Validation> validations) {
  std::vector<const Validation*> latest;
  for (const Validation& validation : validations)
    if (has_answer(validation, check)) latest.push_back(&validation);
  std::ranges::sort(latest, [](const Validation* a, const Validation* b) {
    return std::tie(b->end, b->id) < std::tie(a->end, a->id);
  });
  if (latest.size() > kMostValidations) latest.resize(kMostValidations);
  return latest;
}

}  // namespace

CheckPrecision precision_of(const std::string& check, const std::string& kind,
                            std::span<const SettledFault> faults) {
  constexpr double kSide = 0.05;
  CheckPrecision precision{.check = check, .kind = kind};
  for (const SettledFault& fault : faults) {
    if (fault.check != check || fault.trust < kLeastTrust) continue;
    if (fault.answer == LabelAnswer::faulty) ++precision.right;
    if (fault.answer == LabelAnswer::healthy) ++precision.wrong;
  }
  const double hits = 1 + static_cast<double>(precision.right);
  const double misses = 1 + static_cast<double>(precision.wrong);
  precision.mean = hits / (hits + misses);
  precision.low = beta_quantile(hits, misses, kSide);
  precision.high = beta_quantile(hits, misses, 1 - kSide);
  precision.is_mostly_wrong = beta_below(hits, misses, 0.5);
  return precision;
}

CheckRole next_role(const CheckPrecision& precision, CheckRole current) {
  constexpr double kCertain = 0.9;
  if (is_hard_rule(precision.check)) return CheckRole::gating;
  if (precision.is_mostly_wrong > kCertain) return CheckRole::advisory;
  if (precision.low > kCertain) return CheckRole::gating;
  return current;
}

bool Redundancy::is_redundant() const {
  return validations == kMostValidations && unique == 0;
}

Redundancy redundancy_of(const std::string& check, std::span<const std::string> by_cost,
                         std::span<const Validation> validations) {
  Redundancy result{.check = check};
  const auto self = std::ranges::find(by_cost, check);
  const std::span<const std::string> cheaper =
      self == by_cost.end() ? std::span<const std::string>() : std::span(by_cost.begin(), self);
  for (const Validation* validation : latest_validations(check, validations)) {
    ++result.validations;
    if (!is_found_by(*validation, check)) continue;
    ++result.finds;
    const bool is_known = std::ranges::any_of(
        cheaper, [&](const std::string& other) { return is_found_by(*validation, other); });
    if (!is_known) ++result.unique;
  }
  if (result.validations == 0) return result;
  const auto count = static_cast<double>(result.validations);
  result.unique_bound = result.unique == 0 ? rule_of_three(result.validations)
                                           : std::min(1.0, count_bounds(result.unique).high / count);
  return result;
}

}  // namespace autopilot::learning
