// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "core/finding.hpp"

namespace autopilot::incidents {

// The evidence of that name as text; empty if missing.
inline std::string word_of(const Finding& finding, std::string_view name) {
  const Value* value = find_attribute(finding.evidence, name);
  return value == nullptr ? std::string() : to_string(*value);
}

inline bool is_bad(Health health) {
  return health == Health::degraded || health == Health::failed;
}

// True if `now` has new evidence. For log records only another sequence number is new, not another choice of
// the record shown.
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

// Number of the driver error of the finding, nullopt for other findings. It is part of the finding's
// identity, so that errors of one reason do not hide each other.
[[nodiscard]] inline std::optional<std::int64_t> error_code(const Finding& finding) {
  const Value* code = find_attribute(finding.evidence, "code");
  const auto* number = code == nullptr ? nullptr : std::get_if<std::int64_t>(code);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

}  // namespace autopilot::incidents
