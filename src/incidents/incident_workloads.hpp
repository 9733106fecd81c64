// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/incident.hpp"
#include "incidents/gpu_users.hpp"

namespace autopilot::incidents {

// Adds the affected workloads to the incident: the workloads that used or held the GPU of a member while the
// member lasted, or any GPU if the member concerns all of them; for a fault of a program, the program in its
// log line. A pod with a known process is not listed separately. True if the list changed. An injected
// incident affects no workload.
bool add_workloads(Incident& incident, const GpuUsers& users);
// The same for a record that only repeats a member.
bool add_workloads(Incident& incident, const IncidentMember& member, const GpuUsers& users);

}  // namespace autopilot::incidents
