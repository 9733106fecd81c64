// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/action.hpp"

// What an operator does about a finding or an incident, from the catalog. Pure; thread-safe.
namespace autopilot::cli {

// The cure of the reason, or the sentence of the action if the evidence leads to another action than the
// reason does. Empty if the catalog has neither.
[[nodiscard]] std::string remedy_of(std::string_view reason, Action action);
// The command that does the action on the node; empty: no single command does.
[[nodiscard]] std::string command_for(Action action);
// Title of the reason; `otherwise` if the catalog has no such reason.
[[nodiscard]] std::string reason_title(std::string_view reason, std::string otherwise);

}  // namespace autopilot::cli
