// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checks/check.hpp"

namespace autopilot::checks {

// What the records of the history say by the log rules of the catalog: one finding for each subject and
// reason, of the worst health among the rules that give it, with the newest line as evidence and how many
// there were in the message. Records that user space wrote, and unverified ones, make none; injected ones
// make findings of their own. A line is over when a later one takes it back or its reason expired.
[[nodiscard]] Findings rule_findings(const JudgeInput& input);

// For judges that choose a health themselves: `health`, or degraded where the rule of the event is unproven.
[[nodiscard]] Health allowed_health(const JudgeInput& input, const Observation& event, Health health);

}  // namespace autopilot::checks
