// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/json.hpp"
#include "jobs/findings.hpp"

namespace autopilot::api {

// Write the members of a finding, or of the state of a job, into the open object of `json`. Times are texts
// (RFC 3339, UTC), probabilities 0 to 1, losses hours of the job. What is unknown is left out.
void write_members(JsonWriter& json, const jobs::JobFinding& finding);
void write_members(JsonWriter& json, const jobs::JobState& job);

// "unlocalised", "program", "gpu", "nic", "host", "leaf", "storage"
[[nodiscard]] std::string_view to_string(jobs::EntityKind kind);

}  // namespace autopilot::api
