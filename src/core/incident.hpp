// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/finding.hpp"

namespace autopilot {

// recovering: the condition is gone, its clear rule has not fired yet.
enum class IncidentState : std::uint8_t { open, recovering, closed };

[[nodiscard]] std::string_view to_string(IncidentState state);
[[nodiscard]] std::optional<IncidentState> parse_incident_state(std::string_view word);

struct IncidentMember {
  std::string check;
  Finding finding;
  bool sympathetic = false;  // a consequence of the cause, not the cause
};

struct Incident {
  std::string id;  // unique over the life of the journal: "<boot id, 8 digits>-<number>"
  IncidentState state = IncidentState::open;
  std::string check;  // of the cause
  std::string reason;
  Subject blamed;
  Health health = Health::degraded;
  Action action = Action::none;
  double confidence = 0;  // 0..1, the catalog's for the reason until grouping says better
  std::string summary;
  WallTime opened{};
  WallTime updated{};
  std::optional<WallTime> closed;
  std::string closed_by;  // the clear rule that fired
  bool acknowledged = false;
  bool injected = false;
  std::vector<IncidentMember> members;
};

}  // namespace autopilot
