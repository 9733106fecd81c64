// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/action.hpp"

namespace autopilot::cli {

// Imperative sentence and id: "drain the node, then reset the GPU (drain_then_reset_gpu)". Empty for none.
// Pure.
[[nodiscard]] std::string action_text(Action action);

// Appends "Action: <action_text>" to a message; nothing if `id` is empty or none. An id that this version
// does not know is appended as it is. Pure.
void append_action(std::string& message, std::string_view id);

}  // namespace autopilot::cli
