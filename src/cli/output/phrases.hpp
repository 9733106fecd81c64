// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "core/action.hpp"
#include "core/clock.hpp"
#include "core/subject.hpp"

namespace autopilot::cli {

// Imperative sentence and id: "drain the node, then reset the GPU (drain_then_reset_gpu)". Empty for none.
// Pure.
[[nodiscard]] std::string action_text(Action action);

// Appends "Action: <action_text>" to a message; nothing if `id` is empty or none. An id that this version
// does not know is appended as it is. Pure.
void append_action(std::string& message, std::string_view id);

// Name of a subject in messages: "GPU 3 (0000:61:00.0)", "NVLink 3 of GPU 0000:61:00.0", "mlx5_0 port 1",
// "nvme0n1". Empty for this machine. Pure.
[[nodiscard]] std::string subject_text(const Subject& subject);

// "45s", "12m", "3h", "5d": one unit, rounded down. "0s" for a time in the future.
[[nodiscard]] std::string age_of(WallTime then, WallTime now);

}  // namespace autopilot::cli
