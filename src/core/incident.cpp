// SPDX-License-Identifier: Apache-2.0
#include "core/incident.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace autopilot {
namespace {

constexpr std::array<std::pair<IncidentState, std::string_view>, 3> kStateWords{{
    {IncidentState::open, "open"},
    {IncidentState::recovering, "recovering"},
    {IncidentState::closed, "closed"},
}};

constexpr std::array<std::string_view, 3> kEnds{"application", "hardware", "unclear"};

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

std::string_view to_string(FaultEnd end) {
  return kEnds.at(static_cast<std::size_t>(end));
}

std::optional<FaultEnd> parse_fault_end(std::string_view word) {
  const auto found = std::ranges::find(kEnds, word);
  if (found == kEnds.end()) return std::nullopt;
  return static_cast<FaultEnd>(found - kEnds.begin());
}

}  // namespace autopilot
