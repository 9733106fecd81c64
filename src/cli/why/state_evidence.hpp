// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/incident.hpp"
#include "core/snapshot.hpp"
#include "host/files/files.hpp"
#include "host/memory/memory_groups.hpp"
#include "host/process/processes.hpp"
#include "host/storage/filesystems.hpp"
#include "jobs/brain.hpp"
#include "why/evidence.hpp"

namespace autopilot::cli {

// The source of findings of checks that ran just now, without an agent.
inline constexpr std::string_view kOfThisRun = "check";

// Evidence in the members of incidents, each a finding or a record of a driver. `now`: time of the last run;
// a finding that began then has no time. `source`: "checks", "agent", "journal of the agent". Incidents that
// ended before `since` are left out. Pure.
[[nodiscard]] std::vector<why::Evidence> evidence_in(std::span<const Incident> incidents,
                                                     const std::string& source, WallTime now, WallTime since);

// GPUs that the program uses, or holds, according to a snapshot.
[[nodiscard]] std::vector<Subject> gpus_of(const why::Target& target, const NodeSnapshot& node);

// Kills that the kernel counted in control groups, without a time. Pure.
[[nodiscard]] std::vector<why::Evidence> evidence_in(const host::KilledGroups& groups);

// Processes that the limit of a control group refused, without a time. Pure.
[[nodiscard]] std::vector<why::Evidence> evidence_in(const host::RefusingGroups& groups);

// True for /dev/shm of this machine and of containers.
[[nodiscard]] bool is_shared_memory(const host::Mount& mount);
// Shared memory without free space. nullopt: it has some. Pure.
[[nodiscard]] std::optional<why::Evidence> evidence_of(const host::Mount& mount, const host::Usage& usage);

// What the monitoring of jobs states about the job: how it ended, or what slows or stops it. nullopt: nothing
// is wrong.
[[nodiscard]] std::optional<why::Evidence> evidence_of(const jobs::JobReport& job, const why::Target& target);

// Two readings of the processes of a machine, with some time between them.
struct TaskReadings {
  host::Tasks before;
  host::Tasks now;
};

// Processes of the target that are stopped, have ended without being collected, or did not run between the
// readings because the kernel blocks them; of the whole machine, stopped and ended processes of containers,
// pods and batch jobs.
[[nodiscard]] std::vector<why::Evidence> evidence_in(const TaskReadings& readings, const why::Target& target,
                                                     const host::Files& files);

}  // namespace autopilot::cli
