// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/snapshot.hpp"
#include "core/subject.hpp"
#include "core/workload.hpp"
#include "kube/objects.hpp"

namespace autopilot::preflight {

// What somebody wants to have tested.
struct GpuClaim {
  // The pod; empty: nobody's, and all GPUs of the machine.
  WorkloadOwner owner;
  std::int64_t whole = 0;   // GPUs that it asks for
  bool has_parts = false;   // or parts of GPUs
  bool has_claims = false;  // or devices of a claim, which may be GPUs
};
[[nodiscard]] GpuClaim claim_of(const kube::Pod& pod);

// What it has of the machine.
struct HeldGpus {
  std::vector<Subject> gpus;  // those that must be sound; where nobody tells which: all
  bool are_its_own = false;   // these and no others are its
  // Why a test may not be made of them, in a sentence; empty: it may.
  std::string untestable;
};

// What is known of the machine.
struct GpuView {
  std::span<const Subject> gpus;      // all, as the driver lists them
  const CheckResult* look = nullptr;  // of gpu.processes, made now; null: it did not look
  std::optional<std::int64_t> allocatable =
      std::nullopt;  // whole GPUs that the node offers; nothing: not known
};

// Which GPUs these are: by the word of the kubelet, or because the pod has all of them. What else uses them
// keeps them from being tested, the pod itself does not. Pure.
[[nodiscard]] HeldGpus held_gpus(const GpuClaim& claim, const GpuView& view);

}  // namespace autopilot::preflight
