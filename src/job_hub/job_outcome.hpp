// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "core/result.hpp"
#include "jobs/brain.hpp"

namespace autopilot::job_hub {

// Of a job with more nodes, the agents get the names of these: the suspected ones, then the first by name.
inline constexpr std::size_t kMostOutcomeNodes = 64;
inline constexpr std::size_t kMostOutcomeFindings = 32;  // confirmed ones, the first of the report

// What the agent of `node` gets to know about the job with that key: its end, its failure, and which parts
// were suspected, without evidence, ranks, and what people stated; the same for each node of the job, with
// names in ascending order. Pure. not_found: `found` is not a job with that key which ran on the node.
[[nodiscard]] Result<jobs::JobReport> outcome_for(const Result<jobs::JobReport>& found,
                                                  const std::string& node, const std::string& job);

}  // namespace autopilot::job_hub
