// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "core/finding.hpp"

namespace autopilot::incidents {

// Number of the driver error of the finding, nullopt for other findings. It is part of the finding's
// identity, so that errors of one reason do not hide each other.
[[nodiscard]] inline std::optional<std::int64_t> error_code(const Finding& finding) {
  const Value* code = find_attribute(finding.evidence, "code");
  const auto* number = code == nullptr ? nullptr : std::get_if<std::int64_t>(code);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

}  // namespace autopilot::incidents
