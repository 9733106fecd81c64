// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.hpp"
#include "core/script_answer.hpp"
#include "host/process/child_runner.hpp"

namespace autopilot::host {

// Exit code 0 healthy, 1 degraded, 2 failed, 3 unknown, the first line of its output as message; or JSON on
// its output: {"health": "degraded", "message": "...", "observations": [{"name": "", "value": 1.5, "unit":
// ""}]}. Where JSON and exit code differ the worse of them counts (failed, unknown, degraded, healthy), and
// an exit code above 3 is unknown. timed_out, unavailable (killed by a signal, could not be confined),
// malformed (another exit code without JSON, wrong JSON).
[[nodiscard]] Result<ScriptAnswer> read_script_answer(const ChildReport& report);

}  // namespace autopilot::host
