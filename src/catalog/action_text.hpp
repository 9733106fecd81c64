// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/action.hpp"

namespace autopilot::catalog {

// Sentence of the catalog, command if there is one, and id: "run diagnostics: autopilot test
// (run_diagnostics)". Empty for none. Thread-safe.
[[nodiscard]] std::string action_text(Action action);

// Appends "Action: <action_text>" to a message; nothing if `id` is empty or none. An id that this version
// does not know is appended as it is. Thread-safe.
void append_action(std::string& message, std::string_view id);

}  // namespace autopilot::catalog
