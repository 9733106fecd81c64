// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "catalog/catalog.hpp"
#include "core/finding.hpp"

namespace autopilot::incidents {

enum class TransitionKind : std::uint8_t { raised, changed, cleared };

// changed: new health or action, the condition disappeared or returned (finding.held), or the card moved to
// another slot.
struct Transition {
  TransitionKind kind = TransitionKind::raised;
  std::string check;
  Finding finding;
  std::string incident;                      // empty for findings of health unknown
  std::optional<catalog::ClearRule> rule{};  // cleared: the rule that fired; nullopt: no rule was needed
};

}  // namespace autopilot::incidents
