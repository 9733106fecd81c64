// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/finding.hpp"

namespace autopilot::incidents {

// What the evidence says under that name, as a word; empty where it says nothing.
inline std::string word_of(const Finding& finding, std::string_view name) {
  const Value* value = find_attribute(finding.evidence, name);
  return value == nullptr ? std::string() : to_string(*value);
}

inline bool is_bad(Health health) {
  return health == Health::degraded || health == Health::failed;
}

// A record of a log has a number, and only another one is news: which of them is shown is not.
inline bool is_news(const Finding& before, const Finding& now) {
  const auto newest = [](const Finding& finding) {
    const Value* last = find_attribute(finding.evidence, "lastSequence");
    return last == nullptr ? find_attribute(finding.evidence, "sequence") : last;
  };
  const Value* one = newest(before);
  const Value* other = newest(now);
  if (one == nullptr || other == nullptr) return before.evidence != now.evidence;
  return *one != *other;
}

}  // namespace autopilot::incidents
