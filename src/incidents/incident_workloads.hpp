// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/incident.hpp"
#include "incidents/gpu_users.hpp"

namespace autopilot::incidents {

// Adds to the incident whom its members concern, of those who used or held the GPUs while the member lasted:
// all of the GPU, or of any GPU where it is about all of them; of a fault of a program the one that its line
// names. A pod of which a process is known is not told beside it. True when that is news. An injected
// incident concerns nobody.
bool add_workloads(Incident& incident, const GpuUsers& users);
// The same of what is no member of its own: a record that only repeats one.
bool add_workloads(Incident& incident, const IncidentMember& member, const GpuUsers& users);

}  // namespace autopilot::incidents
