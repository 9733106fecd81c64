// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/objects.hpp"

namespace autopilot::diagnostics {

// Who has accelerators of a node, by what the API shows of it and of its pods. Resources of device plugins
// are counted; what pods got by ResourceClaims (DRA) is not: which devices these are stands elsewhere, so a
// pod with a claim counts as one that holds some.
struct AcceleratorUse {
  kube::Devices whole;  // allocatable, whole devices: "nvidia.com/gpu" -> 8
  kube::Devices
      parts;  // allocatable, slices and shares: "nvidia.com/mig-1g.10gb" -> 14, "nvidia.com/gpu.shared"
  // "whole" devices that are slices or shares by the node's labels: the plugin keeps the plain name for them.
  bool is_divided = false;
  std::vector<std::string> holders;  // "namespace/name (nvidia.com/gpu 4)", sorted

  // Nobody holds any, and there is something to hold.
  [[nodiscard]] bool is_idle() const { return holders.empty() && !(whole.empty() && parts.empty()); }
};

// `pods`: all of the node, whatever their phase. One that is over holds nothing; one that ends still does,
// and one that waits to begin does too. `is_own`: pods that do not count.
[[nodiscard]] AcceleratorUse accelerator_use(const kube::Node& node, std::span<const kube::Pod> pods,
                                             const std::function<bool(const kube::Pod&)>& is_own = {});

// A resource that a device plugin offers for accelerators or for parts of them.
[[nodiscard]] bool is_accelerator(std::string_view resource);

}  // namespace autopilot::diagnostics
