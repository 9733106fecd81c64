// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workloads/backfill/cluster.hpp"

namespace autopilot::workloads::backfill {

enum class Decision : std::uint8_t {
  starts,           // in its turn: no job before it waits
  backfills,        // before its turn, without delaying the head
  head,             // the first job that must wait; its start is reserved
  too_long,         // fits now, and would delay the head
  unknown_runtime,  // fits now, and its end is not known
  interferes,       // fits only beside other jobs, and slows them too much or by an unknown share
  no_room,
};

struct PlannedJob {
  std::string name;
  Decision decision = Decision::no_room;
  std::vector<std::string> nodes;  // where it starts
  double gpu_hours = 0;            // won by starting now, if it backfills
};

struct Plan {
  std::vector<PlannedJob> jobs;  // as pending
  // Seconds until the head can start; missing: no job waits, or the head waits for a job without an end.
  std::optional<double> head_starts_in_s;
};

struct PlanLimits {
  double most_slowdown = 0.05;  // of a job on the same node
};

// EASY backfilling: jobs start in their order until one does not fit, the head. Its start is reserved for the
// earliest time at which enough running jobs have ended. A later job starts now only if it fits now and the
// head can still start at that time. No job is preempted. If the head waits for a job without an end, nothing
// backfills, because a delay could not be excluded.
[[nodiscard]] Plan plan_of(const Cluster& cluster, const PlanLimits& limits);

enum class Use : std::uint8_t { used, idle, unknown };

// What a running job holds and uses. Without samples the use is unknown, never idle.
struct HeldGpus {
  std::string job;
  std::vector<std::string> nodes;
  double held = 0;
  double sampled = 0;     // GPUs with samples; the others are unknown
  double idle = 0;        // of the sampled: with a mean below kUsedGpu_percent
  double idle_hours = 0;  // GPU-hours of these in the sampled time
  Use use = Use::unknown;
};
inline constexpr double kUsedGpu_percent = 1;

[[nodiscard]] std::vector<HeldGpus> held_gpus(const Cluster& cluster);

// Free capacity of each node, in the order of the nodes.
[[nodiscard]] std::vector<Capacity> free_of(const Cluster& cluster);

}  // namespace autopilot::workloads::backfill
