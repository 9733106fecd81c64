// SPDX-License-Identifier: Apache-2.0
#include "runtime/shadow.hpp"

#include <algorithm>
#include <exception>

namespace autopilot::runtime {
namespace {

bool has_learned_limits(const checks::Check& check) {
  return check.judge != nullptr && std::ranges::find(check.info.tags, "active") != check.info.tags.end();
}

std::size_t count_missing(const Findings& of, const Findings& in) {
  return static_cast<std::size_t>(std::ranges::count_if(of, [&in](const Finding& one) {
    return std::ranges::none_of(in, [&one](const Finding& other) {
      return other.subject == one.subject && other.reason == one.reason;
    });
  }));
}

}  // namespace

void judge_in_shadow(const checks::Check& check, const checks::JudgeInput& input, const Findings& found,
                     const LearnedLimits& shadowed, ShadowDifferences& differences) {
  if (!has_learned_limits(check)) return;
  for (const auto& [id, limit] : shadowed) {
    LearnedLimits tried = input.learned == nullptr ? LearnedLimits{} : *input.learned;
    tried[id] = limit;
    try {
      const Findings instead =
          check.judge({input.now, input.history, input.facts, input.expectation, &tried});
      differences[{limit.version, check.info.id}] = {count_missing(instead, found),
                                                     count_missing(found, instead)};
    } catch (const std::exception&) {
      differences.erase({limit.version, check.info.id});  // the check itself reports that its judge fails
    }
  }
}

}  // namespace autopilot::runtime
