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

}  // namespace autopilot::incidents
