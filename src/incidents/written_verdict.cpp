// SPDX-License-Identifier: Apache-2.0
#include "incidents/written_verdict.hpp"

#include <algorithm>

namespace autopilot::incidents {
namespace {

const Incident* find(std::span<const Incident> incidents, const std::string& id) {
  const auto found = std::ranges::find(incidents, id, &Incident::id);
  return found == incidents.end() ? nullptr : &*found;
}

EvictingIncident looked_at(EvictingIncident one, const WrittenVerdictInput& input) {
  const Incident* incident = find(input.incidents, one.id);
  if (incident != nullptr) {
    one.closed.reset();
    one.is_acknowledged = incident->acknowledged.has_value();
  } else if (!one.closed) {
    one.closed = input.now;
  }
  return one;
}

// Beyond what the verdict says of it.
bool holds(const EvictingIncident& one, const WrittenVerdictInput& input) {
  if (one.is_acknowledged) return false;
  return !one.closed || !input.deep_test_passed || *input.deep_test_passed <= *one.closed;
}

}  // namespace

WrittenVerdict next_written(const WrittenVerdict& before, const WrittenVerdictInput& input) {
  WrittenVerdict after{input.verdict, {}};
  for (const EvictingIncident& one : before.evicting)
    if (EvictingIncident now = looked_at(one, input); holds(now, input))
      after.evicting.push_back(std::move(now));
  for (const Incident& incident : input.incidents) {
    if (!makes_evict(incident, input.reasons)) continue;
    const bool is_known =
        std::ranges::find(after.evicting, incident.id, &EvictingIncident::id) != after.evicting.end();
    if (!is_known) after.evicting.push_back(looked_at({incident.id, {}, false}, input));
  }
  if (!after.evicting.empty() && input.verdict != Verdict::testing) after.word = Verdict::evict;
  return after;
}

}  // namespace autopilot::incidents
