// SPDX-License-Identifier: Apache-2.0
#include "cli/test_judgement.hpp"

#include <algorithm>

#include "core/attribute_text.hpp"
#include "core/clock.hpp"

namespace autopilot::cli {

bool was_ended(const Operation& operation) {
  return operation.state == OperationState::timed_out || operation.state == OperationState::cancelled;
}

bool tells_of(const Operation& operation, const CheckResult& result) {
  return std::ranges::any_of(result.observations.all(), [&operation](const Observation& one) {
    const auto tested_at = parse_time(attribute_text(one, "testedAt"));
    return tested_at && *tested_at >= operation.started;
  });
}

bool has_judged(const Operation& operation, const CheckResult& result) {
  const WallTime finished = operation.finished.value_or(operation.created);
  if (!was_ended(operation)) return result.completed >= finished;
  return tells_of(operation, result) || result.completed - result.duration >= finished;
}

}  // namespace autopilot::cli
