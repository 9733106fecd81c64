// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "checks/check.hpp"
#include "host/host.hpp"

namespace autopilot::checks {

inline constexpr std::string_view kKubelet = "kubelet";
// About the host: the pods that hold a GPU of this machine; missing where the kubelet cannot be asked.
inline constexpr std::string_view kPodsHolding = "pods.holding_gpus";
// About the host: devices of pods that are none of the GPUs seen: other devices, or an id that says nothing.
inline constexpr std::string_view kPodsOther = "pods.other_devices";

// Adds to what was seen of the GPUs which pods hold them, by the word of the kubelet: one observation for
// each pod (core/workload.hpp) about the GPU, or about the part of it that the pod holds. Nothing where no
// kubelet is. Never fails: whoever looks has seen the rest.
void add_holders(const host::Host& host, const Request& request, const host::PodNames& pods,
                 Observed& observed);

}  // namespace autopilot::checks
