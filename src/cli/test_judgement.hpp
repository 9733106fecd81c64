// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/check_result.hpp"
#include "core/operation.hpp"

namespace autopilot::cli {

// By its deadline or by somebody.
[[nodiscard]] bool was_ended(const Operation& operation);

// Whether the result tells what this test found; what an earlier one found says nothing of it.
[[nodiscard]] bool tells_of(const Operation& operation, const CheckResult& result);

// Whether the look saw what the test left. One that was under way when a test was ended may not have.
[[nodiscard]] bool has_judged(const Operation& operation, const CheckResult& result);

}  // namespace autopilot::cli
