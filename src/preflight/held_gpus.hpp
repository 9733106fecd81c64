// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/gpu_user.hpp"
#include "core/snapshot.hpp"
#include "core/subject.hpp"
#include "kube/objects.hpp"

namespace autopilot::preflight {

// The GPUs to test.
struct GpuClaim {
  // The pod; empty: no pod, and all GPUs of the machine.
  GpuUserOwner owner;
  std::int64_t whole = 0;   // number of whole GPUs that the pod requests
  bool has_parts = false;   // it requests parts of GPUs
  bool has_claims = false;  // it has devices of a claim, which may be GPUs
};
[[nodiscard]] GpuClaim claim_of(const kube::Pod& pod);

// The GPUs that a claim has.
struct HeldGpus {
  std::vector<Subject> gpus;  // GPUs that must pass; all GPUs if its own are not known
  bool are_its_own = false;   // exactly these GPUs belong to the claim
  // Why they cannot be tested, in a sentence; empty: they can.
  std::string untestable;
};

// State of the machine.
struct GpuView {
  std::span<const Subject> gpus;      // all, as the driver lists them
  const CheckResult* look = nullptr;  // present result of gpu.processes; null: it has not run
  std::optional<std::int64_t> allocatable =
      std::nullopt;  // whole GPUs that the node offers; not set: not known
};

// The GPUs of a claim, as the kubelet reports them, or all GPUs if the pod has all of them. Another user of
// these GPUs makes them untestable, the pod itself does not. Pure.
[[nodiscard]] HeldGpus held_gpus(const GpuClaim& claim, const GpuView& view);

}  // namespace autopilot::preflight
