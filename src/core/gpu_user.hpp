// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/observation.hpp"

namespace autopilot {

// The owner of a process; a field is empty if it does not apply or is unknown.
struct GpuUserOwner {
  std::string container;  // full id of the container runtime
  std::string pod_uid;
  std::string pod_namespace;
  std::string pod;
  std::string job;  // of a batch system: "slurm 4711"
  // Set for a pod whose GPUs are not reported, and that is the only pod with GPUs: the source of that fact.
  // "api": the Kubernetes API.
  std::string candidate_by;

  friend bool operator==(const GpuUserOwner&, const GpuUserOwner&) = default;
};

// Compares by UID if both have it, otherwise by namespace and name. False if one of them is not a pod.
[[nodiscard]] bool is_same_pod(const GpuUserOwner& a, const GpuUserOwner& b);
// Merges newer data of the same owner into `known`. A later observation can have less data than an earlier
// one: the kubelet removes a pod's folder while its process still ends. Another UID is another pod and
// replaces everything. An owner that is known for certain does not become a candidate again.
void learn(GpuUserOwner& known, const GpuUserOwner& now);

// One process that uses a GPU, and its owner; or a pod that holds a GPU, whether or not a process of the pod
// uses it.
struct GpuUser {
  std::int64_t pid = 0;  // 0: no process, but the pod of the owner
  // Ticks since boot; identifies one process together with the pid. 0: unknown, as for a process that only a
  // log line names.
  std::uint64_t started_ticks = 0;
  std::string process;  // the name of its program
  GpuUserOwner owner;
  WallTime first_seen{};  // first use or hold of the GPU
  WallTime last_seen{};

  [[nodiscard]] bool is_process() const { return pid != 0; }
  // True for the same process, or for the same pod if both have no process.
  [[nodiscard]] bool is_same(const GpuUser& other) const;
};

// "pod ml/train-0 (python3, 4200)", "slurm 4711 (python3, 4200)", "container 0123456789ab (...)", or only the
// process. Without a process "pod ml/train-0", and for a candidate "pod ml/train-0 (the only one with GPUs)".
[[nodiscard]] std::string to_string(const GpuUser& gpu_user);

// The GPU user as an observation about the GPU or a part of it, named by the process or the pod.
[[nodiscard]] Observation to_observation(const GpuUser& gpu_user, const Subject& gpu, std::string_view source,
                                         Instant now);
// nullopt if the observation is of another kind. First and last seen are the time of the observation.
[[nodiscard]] std::optional<GpuUser> gpu_user_in(const Observation& observation);

// The external names of an owner's fields, for attributes, the API and the journal.
struct GpuUserField {
  std::string_view name;
  std::string GpuUserOwner::*member;
};
inline constexpr std::array<GpuUserField, 6> kGpuUserFields{{
    {"container", &GpuUserOwner::container},
    {"podUid", &GpuUserOwner::pod_uid},
    {"podNamespace", &GpuUserOwner::pod_namespace},
    {"pod", &GpuUserOwner::pod},
    {"job", &GpuUserOwner::job},
    {"candidateBy", &GpuUserOwner::candidate_by},
}};

}  // namespace autopilot
