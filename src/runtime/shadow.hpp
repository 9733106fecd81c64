// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "checks/check.hpp"
#include "core/finding.hpp"
#include "core/learned_limits.hpp"

// Learned thresholds that are tried without effect.
namespace autopilot::runtime {

// How the findings of a check would differ now.
struct ShadowDifference {
  std::size_t more = 0;   // findings that it would add
  std::size_t fewer = 0;  // findings that it would not have

  friend bool operator==(const ShadowDifference&, const ShadowDifference&) = default;
};

// By version and check: the last run of each check that was judged with the version.
using ShadowDifferences = std::map<std::pair<std::string, std::string>, ShadowDifference>;

// Judges again with each of `shadowed` in place of what is in use, and compares with `found`, by subject and
// reason. Only checks of diagnostics (tag "active") have learned thresholds. Pure, except for `differences`,
// whose entries of the check are replaced.
void judge_in_shadow(const checks::Check& check, const checks::JudgeInput& input, const Findings& found,
                     const LearnedLimits& shadowed, ShadowDifferences& differences);

}  // namespace autopilot::runtime
