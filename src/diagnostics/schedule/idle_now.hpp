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

// Who has GPUs of this machine. Pure.
namespace autopilot::diagnostics {

// The check that sees who uses and holds GPUs, and its last look; null: it did not look.
inline constexpr std::string_view kProcesses = "gpu.processes";
[[nodiscard]] const CheckResult* look_at_processes(const NodeSnapshot& snapshot);

struct GpuSight {
  std::span<const Subject> gpus;      // all, as the driver lists them
  const CheckResult* look = nullptr;  // of gpu.processes; null: it did not look
  // The pod of this node that holds GPUs, by the word of the Kubernetes API, which does not tell which GPUs;
  // empty: none does. An error: it is not known. Nothing: the node is of no cluster, and all processes of the
  // machine must be visible. The kubelet, where it is among those that looked, knows better.
  std::optional<Result<std::string>> holder;
  // On that GPU, of a test of this agent that is no reservation here (one of the network).
  std::function<double(const Subject& gpu)> own_processes = [](const Subject&) { return 0; };
};

struct IdleGpus {
  std::vector<Subject> idle;
  std::string busy;  // in a sentence, why not all of them are; empty: they are
};
// Those that answer, that no process uses, that no pod holds, and that are not divided. One of which that is
// not known is not idle.
[[nodiscard]] IdleGpus idle_gpus(const GpuSight& sight);

// Who has GPUs of this machine for all that is known, in a sentence; empty: nobody that is known beside
// own_processes. `gpus` does not count.
[[nodiscard]] std::string known_holder(const GpuSight& sight);

// The pod that holds one of these GPUs, or of all where none is named, for all that is known, whether it uses
// it or not: "ml/train-0 on gpu/0000:3b:00.0"; empty: none. Where nobody tells which GPUs a pod of this
// node has, it has them all.
[[nodiscard]] std::string pod_holding(const GpuSight& sight, std::span<const Subject> gpus);

// Who has come while these GPUs are tested, in a sentence; empty: nobody. The test is one process on each of
// them, which the driver lists too.
[[nodiscard]] std::string newcomer(const GpuSight& sight, std::span<const Subject> tested);

}  // namespace autopilot::diagnostics
