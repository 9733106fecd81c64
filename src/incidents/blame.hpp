// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalog/catalog.hpp"
#include "core/incident.hpp"

namespace autopilot::incidents {

// True for a finding that has not cleared; false for a record.
[[nodiscard]] bool stands(const IncidentMember& member);
// The first member that is not secondary; without one, the first member. The incident must have a member.
[[nodiscard]] const IncidentMember& cause_member(const Incident& incident);

// Applies the rule to the members: sets the kind of fault and its sentence; if several devices show the
// cause, also culprit, action and confidence. Pure.
void blame(Incident& incident, const catalog::Cause& cause);

}  // namespace autopilot::incidents
