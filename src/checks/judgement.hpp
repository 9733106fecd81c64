// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "checks/check.hpp"

namespace autopilot::checks {

// A number of thresholds.yaml, or the operator's own in its place.
struct Limit {
  std::string id;
  double value = 0;
  std::string unit;
  std::string source;  // of the number: the catalog's, or "configuration"
  Health max_health = Health::degraded;
};

// An id that the catalog at hand lacks is taken from the built-in one; one that neither has is a bug.
[[nodiscard]] Limit limit(const JudgeInput& input, std::string_view id);

// A finding with the action of its reason and a health that is no worse than the reason may give.
[[nodiscard]] Finding make_finding(const JudgeInput& input, const Subject& subject, std::string_view reason,
                                   Health health, std::string message);
// The same because `value` passed `limit`: no worse than the number may give either, with both as evidence.
[[nodiscard]] Finding make_finding(const JudgeInput& input, const Subject& subject, std::string_view reason,
                                   Health health, std::string message, double value, const Limit& limit);

// What could not be read is unknown beside what could: adds one finding for each subject and each way in
// which observations of the last round were asked for and not answered. `not_supported` and `unsupported` are
// answers.
void add_unread(const JudgeInput& input, Findings& findings);
// The same for the observation of the last round with that name only.
void add_unread(const JudgeInput& input, const Subject& subject, std::string_view name, Findings& findings);

// 0.42 -> "42 %", 12.345 -> "12.3"; at most one digit behind the point.
[[nodiscard]] std::string percent(double ratio);
[[nodiscard]] std::string rounded(double number);
// 0.0000000000032 -> "3.2e-12".
[[nodiscard]] std::string scientific(double number);

}  // namespace autopilot::checks
