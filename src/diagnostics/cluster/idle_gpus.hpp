// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects.hpp"

namespace autopilot::diagnostics {

// The pods that hold accelerators of a node, according to the API. Counts resources of device plugins. The
// devices of ResourceClaims (DRA) are not read, so a pod with a claim counts as a holder.
struct AcceleratorUse {
  kube::Devices whole;  // allocatable, whole devices: "nvidia.com/gpu" -> 8
  kube::Devices
      parts;  // allocatable, slices and shares: "nvidia.com/mig-1g.10gb" -> 14, "nvidia.com/gpu.shared"
  // The node's labels mark "whole" devices as slices or shares: the plugin keeps the plain name for them.
  bool is_divided = false;
  std::vector<std::string> holders;  // "namespace/name (nvidia.com/gpu 4)", sorted

  // The node offers accelerators, and no pod holds any.
  [[nodiscard]] bool is_idle() const { return holders.empty() && !(whole.empty() && parts.empty()); }
};

// `pods`: all pods of the node, in any phase. A pod that is over holds nothing; a terminating pod and a
// pending pod do. `is_own`: pods that do not count.
[[nodiscard]] AcceleratorUse accelerator_use(const kube::Node& node, std::span<const kube::Pod> pods,
                                             const std::function<bool(const kube::Pod&)>& is_own = {});

// True for a resource that a device plugin offers for accelerators or for parts of them.
[[nodiscard]] bool is_accelerator(std::string_view resource);

}  // namespace autopilot::diagnostics
