// SPDX-License-Identifier: Apache-2.0
#include "core/incident.hpp"

#include "core/word_table.hpp"

namespace autopilot {
namespace {

constexpr WordTable<IncidentState, 3> kIncidentStateWords{{
    {IncidentState::open, "open"},
    {IncidentState::recovering, "recovering"},
    {IncidentState::closed, "closed"},
}};

constexpr WordTable<FaultEnd, 3> kEndWords{{
    {FaultEnd::application, "application"},
    {FaultEnd::hardware, "hardware"},
    {FaultEnd::unclear, "unclear"},
}};

}  // namespace

std::string_view to_string(IncidentState state) {
  return word_of(kIncidentStateWords, state);
}

std::optional<IncidentState> parse_incident_state(std::string_view word) {
  return value_of(kIncidentStateWords, word);
}

std::string_view to_string(FaultEnd end) {
  return word_of(kEndWords, end);
}

std::optional<FaultEnd> parse_fault_end(std::string_view word) {
  return value_of(kEndWords, word);
}

}  // namespace autopilot
