// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "core/finding.hpp"

namespace autopilot::incidents {

// The number of the driver's error that the finding is about, part of its identity here: errors of one reason
// do not hide each other. Nothing for any other finding.
[[nodiscard]] inline std::optional<std::int64_t> error_code(const Finding& finding) {
  const Value* code = find_attribute(finding.evidence, "code");
  const auto* number = code == nullptr ? nullptr : std::get_if<std::int64_t>(code);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

}  // namespace autopilot::incidents
