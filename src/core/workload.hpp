// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/observation.hpp"

namespace autopilot {

// What a process was started as; empty where it is nothing of the kind or nobody tells.
struct WorkloadOwner {
  std::string container;  // id of the runtime, in full
  std::string pod_uid;
  std::string pod_namespace;
  std::string pod;
  std::string job;  // of a batch system: "slurm 4711"
  // Of a pod of which nobody tells which GPUs of the machine it holds, only that no other holds any: who says
  // so. "api": the Kubernetes API.
  std::string candidate_by;

  friend bool operator==(const WorkloadOwner&, const WorkloadOwner&) = default;
};

// By the UID where both tell it, otherwise by namespace and name. False where one of them is no pod.
[[nodiscard]] bool is_same_pod(const WorkloadOwner& a, const WorkloadOwner& b);
// Adds to `known` what a later look tells of the same one. A look may see less than one before it: the
// kubelet takes a pod's folder away while its process still ends. Another UID is another pod, and replaces
// all. Who is known without doubt once is no candidate any more.
void learn(WorkloadOwner& known, const WorkloadOwner& now);

// One process that uses a GPU, and what it belongs to; or a pod that holds a GPU, whether or not one of its
// processes uses it.
struct Workload {
  std::int64_t pid = 0;  // 0: no process, but the pod of the owner
  // Since boot; with the pid it means one process only; 0: not told, as of one that only a line names.
  std::uint64_t started_ticks = 0;
  std::string process;  // the name of its program
  WorkloadOwner owner;
  WallTime first_seen{};  // using or holding the GPU
  WallTime last_seen{};

  [[nodiscard]] bool is_process() const { return pid != 0; }
  // The same process, or both no process and of the same pod.
  [[nodiscard]] bool is_same(const Workload& other) const;
};

// "pod ml/train-0 (python3, 4200)", "slurm 4711 (python3, 4200)", "container 0123456789ab (...)", or only the
// process; of no process "pod ml/train-0", of a candidate "pod ml/train-0 (the only one with GPUs)".
[[nodiscard]] std::string to_string(const Workload& workload);

// How a look at a GPU tells of one: an observation about the GPU or a part of it, named by the process or the
// pod.
[[nodiscard]] Observation to_observation(const Workload& workload, const Subject& gpu,
                                         std::string_view source, Instant now);
// Nothing when the observation tells of something else. Seen first and last at the time of the observation.
[[nodiscard]] std::optional<Workload> workload_in(const Observation& observation);

}  // namespace autopilot
