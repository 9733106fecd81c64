// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "catalog/catalog.hpp"
#include "core/incident.hpp"

namespace autopilot::incidents {

// A finding that has not gone away.
[[nodiscard]] bool stands(const IncidentMember& member);
// The first member that is no consequence. The incident must have a member.
[[nodiscard]] const IncidentMember& cause_member(const Incident& incident);

// What the rule concludes from the members: the end and why, and where several devices show the cause, who
// is blamed instead of the first, with which action and confidence. Pure.
void blame(Incident& incident, const catalog::Cause& cause);

}  // namespace autopilot::incidents
