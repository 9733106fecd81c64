// SPDX-License-Identifier: Apache-2.0
#include "core/incident.hpp"

#include <array>

namespace autopilot {
namespace {

constexpr std::array<std::pair<IncidentState, std::string_view>, 3> kStateWords{{
    {IncidentState::open, "open"},
    {IncidentState::recovering, "recovering"},
    {IncidentState::closed, "closed"},
}};

}  // namespace

std::string_view to_string(IncidentState state) {
  for (const auto& [value, word] : kStateWords)
    if (value == state) return word;
  return "open";
}

std::optional<IncidentState> parse_incident_state(std::string_view word) {
  for (const auto& [value, name] : kStateWords)
    if (name == word) return value;
  return std::nullopt;
}

}  // namespace autopilot
