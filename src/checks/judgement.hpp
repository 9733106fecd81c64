// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "checks/check.hpp"

namespace autopilot::checks {

// A threshold from thresholds.yaml, or a value for it that was learned, or the operator's own: the operator's
// value comes first, then the learned one.
struct Limit {
  std::string id;
  double value = 0;
  std::string unit;
  std::string
      source;  // that the catalog names, "configuration", or kLearnedSource with the id of the version
  Health max_health = Health::degraded;
};

// Begin of the source of a learned value; the id of its version follows.
inline constexpr std::string_view kLearnedSource = "learned, version ";
// The version of the learned threshold of a finding; empty: its threshold was not learned.
[[nodiscard]] std::string learned_version(const Finding& finding);

// Falls back to the built-in catalog if input.facts lacks the id. Asserts that one of them has it.
[[nodiscard]] Limit limit(const JudgeInput& input, std::string_view id);

// A finding with the action of its reason. The health is capped at the reason's maximum.
[[nodiscard]] Finding make_finding(const JudgeInput& input, const Subject& subject, std::string_view reason,
                                   Health health, std::string message);
// The same for a value beyond a limit: the health is also capped at the limit's maximum; value and limit
// become evidence. The message names the version of a learned limit.
[[nodiscard]] Finding make_finding(const JudgeInput& input, const Subject& subject, std::string_view reason,
                                   Health health, std::string message, double value, const Limit& limit);

// Adds one unknown finding for each subject and kind of error, for observations of the last run that are
// missing. `not_supported` and `unsupported` are valid answers and add none.
void add_unread(const JudgeInput& input, Findings& findings);
// The same, only for the observation with that name.
void add_unread(const JudgeInput& input, const Subject& subject, std::string_view name, Findings& findings);

// 0.42 -> "42 %", 12.345 -> "12.3"; at most one digit after the point.
[[nodiscard]] std::string percent(double ratio);
[[nodiscard]] std::string rounded(double number);
// 0.0000000000032 -> "3.2e-12".
[[nodiscard]] std::string scientific(double number);

}  // namespace autopilot::checks
