// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "catalog/catalog.hpp"
#include "core/finding.hpp"

namespace autopilot::incidents {

enum class TransitionKind : std::uint8_t { raised, changed, cleared };

// changed: another health or action, the condition went away or came back (finding.held), or its card sits in
// another slot.
struct Transition {
  TransitionKind kind = TransitionKind::raised;
  std::string check;
  Finding finding;
  std::string incident;                      // empty for findings of health unknown
  std::optional<catalog::ClearRule> rule{};  // cleared: the rule that fired; nothing where none was needed
};

}  // namespace autopilot::incidents
