// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "core/subject.hpp"

// The users and holders of this machine's GPUs. Pure.
namespace autopilot::diagnostics {

// The check that reads users and holders of GPUs, and its last result; null: it has not run.
inline constexpr std::string_view kProcesses = "gpu.processes";
[[nodiscard]] const CheckResult* look_at_processes(const NodeSnapshot& snapshot);

struct GpuSight {
  std::span<const Subject> gpus;      // all, as the driver lists them
  const CheckResult* look = nullptr;  // of gpu.processes; null: it has not run
  // The pod of this node that holds GPUs according to the Kubernetes API, which does not list which GPUs;
  // empty: no pod holds any. An error: not known. Not set: the node belongs to no cluster, and all processes
  // of the machine must be visible. Not used if the kubelet is a data source of `look`.
  std::optional<Result<std::string>> holder;
  // Number of processes on that GPU of an own diagnostic without a reservation (a network test).
  std::function<double(const Subject& gpu)> own_processes = [](const Subject&) { return 0; };
};

struct IdleGpus {
  std::vector<Subject> idle;
  std::string busy;  // why a GPU is not idle, in a sentence; empty: all are idle
};
// GPUs that answer, without a process, without a pod that holds them, and not divided. A GPU without this
// information is not idle.
[[nodiscard]] IdleGpus idle_gpus(const GpuSight& sight);

// A known holder or user of a GPU, in a sentence; empty: none is known, own_processes not counted. Does not
// read `gpus` of `sight`.
[[nodiscard]] std::string known_holder(const GpuSight& sight);

// A known pod that holds one of these GPUs (of all GPUs if `gpus` is empty), even if it does not use it:
// "ml/train-0 on gpu/0000:3b:00.0"; empty: none. A pod whose GPUs are not known counts as the holder of all.
[[nodiscard]] std::string pod_holding(const GpuSight& sight, std::span<const Subject> gpus);

// A user of these GPUs beside their diagnostic, in a sentence; empty: none. The diagnostic is one process on
// each GPU, which the driver lists too.
[[nodiscard]] std::string newcomer(const GpuSight& sight, std::span<const Subject> tested);

}  // namespace autopilot::diagnostics
