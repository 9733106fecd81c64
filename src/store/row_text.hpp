// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/event.hpp"
#include "core/incident.hpp"
#include "core/observation.hpp"
#include "core/operation.hpp"
#include "core/result.hpp"

// Bodies of the journal's rows: one JSON object each. Invalid UTF-8 is preserved. Texts and lists are
// truncated at the limits of Journal; a truncated row has "cut": true.
namespace autopilot::store {

[[nodiscard]] std::string to_text(const Event& event);
[[nodiscard]] std::string to_text(const Incident& incident);
[[nodiscard]] std::string to_text(const Operation& operation);
[[nodiscard]] std::string to_text(const Observation& observation);
[[nodiscard]] std::string to_text(const Finding& finding);

// malformed: names the invalid member. Missing members keep their default.
[[nodiscard]] Result<Event> parse_event(std::string_view text);
[[nodiscard]] Result<Incident> parse_incident(std::string_view text);
[[nodiscard]] Result<Operation> parse_operation(std::string_view text);
[[nodiscard]] Result<Observation> parse_observation(std::string_view text);
[[nodiscard]] Result<Finding> parse_finding(std::string_view text);

}  // namespace autopilot::store
