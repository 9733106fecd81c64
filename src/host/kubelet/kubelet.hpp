// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/clock.hpp"
#include "core/result.hpp"
#include "host/kubelet/pod_resources.hpp"

namespace autopilot::host {

// What the kubelet of this machine knows.
class Kubelet {
 public:
  Kubelet() = default;
  Kubelet(const Kubelet&) = delete;
  Kubelet& operator=(const Kubelet&) = delete;
  virtual ~Kubelet() = default;

  // Which container holds which devices, now. not_found: no kubelet here, or none with this service; every
  // other error: there is one and it cannot be asked. Thread-safe; returns at the deadline.
  [[nodiscard]] virtual Result<PodResources> pod_resources(MonoTime deadline) const = 0;

  // Of a machine without one.
  [[nodiscard]] static const Kubelet& none();
};

}  // namespace autopilot::host
