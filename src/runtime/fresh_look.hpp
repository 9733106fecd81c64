// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "core/clock.hpp"
#include "core/snapshot.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::runtime {

// Calls back with a look of that check that begins now, not with one that is under way. False: nobody makes
// such a look. poll_soon: the runtime has something to do. On the loop's thread.
[[nodiscard]] bool look_afresh(Runtime& runtime, const Clock& clock, std::string_view check,
                               const std::function<void()>& poll_soon,
                               const std::function<void(const CheckResult&)>& done);

}  // namespace autopilot::runtime
