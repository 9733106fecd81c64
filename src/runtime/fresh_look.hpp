// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "core/clock.hpp"
#include "core/snapshot.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::runtime {

// Runs the check, and calls back with the result of a run that begins after this call: if the check is
// running already, with the result of the next run. False: no such check, or it is disabled. poll_soon: the
// runtime has work. On the loop's thread.
[[nodiscard]] bool look_afresh(Runtime& runtime, const Clock& clock, std::string_view check,
                               const std::function<void()>& poll_soon,
                               const std::function<void(const CheckResult&)>& done);

}  // namespace autopilot::runtime
