// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checks/kernel_log/decode.hpp"
#include "core/incident.hpp"
#include "golden/cause_labels.hpp"
#include "golden/golden_case.hpp"

namespace autopilot::golden {

// One incident over its whole life.
struct ToldIncident {
  Incident last;  // as last reported
  Health worst = Health::healthy;
};

struct ToldLine {
  std::optional<checks::DecodedRecord> decoded;  // nothing: no rule knows the line
  WallTime time{};
};

// The result of an agent with all built-in checks for a scenario. Checks run as in the agent, at once after
// new kernel records and at intervals, with the state machine and its windows.
struct Story {
  std::vector<ToldIncident> incidents;  // except incidents that became part of another
  Health node = Health::healthy;        // the worst finding of all
  std::vector<ToldLine> lines;          // of kmsg.jsonl
};

[[nodiscard]] Result<Story> tell(const std::string& scenario, const std::optional<Storm>& storm,
                                 MachineBench& bench);

}  // namespace autopilot::golden
