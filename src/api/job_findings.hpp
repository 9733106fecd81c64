// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/json.hpp"
#include "jobs/findings.hpp"

namespace autopilot::api {

// Write the members of a finding, or of the state of a job, into the open object of `json`. Times are texts
// (RFC 3339, UTC), probabilities 0 to 1, losses hours of the job. What is unknown is left out.
void write_members(JsonWriter& json, const jobs::JobFinding& finding);
void write_members(JsonWriter& json, const jobs::JobState& job);
// Write one member: "culprit" or "evidence".
void write_culprit(JsonWriter& json, const jobs::Entity& culprit);
void write_evidence(JsonWriter& json, const std::vector<jobs::Evidence>& evidence);

// Read what these write. What is left out is unknown, or 0 for losses and probabilities.
[[nodiscard]] jobs::JobFinding read_job_finding(const JsonObject& object);
[[nodiscard]] jobs::JobState read_job_state(const JsonObject& object);
[[nodiscard]] jobs::Entity read_culprit(const JsonObject& object);
[[nodiscard]] jobs::Evidence read_evidence(const JsonObject& object);

// "unlocalised", "program", "gpu", "nic", "host", "leaf", "storage"
[[nodiscard]] std::string_view to_string(jobs::EntityKind kind);
[[nodiscard]] std::optional<jobs::EntityKind> parse_entity_kind(std::string_view word);

// The words of jobs::to_string.
[[nodiscard]] std::optional<jobs::Severity> parse_job_severity(std::string_view word);
[[nodiscard]] std::optional<jobs::Choice> parse_job_choice(std::string_view word);

}  // namespace autopilot::api
