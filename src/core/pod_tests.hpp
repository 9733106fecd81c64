// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace autopilot {

// Ids of the diagnostics that a pod can request before it starts: diagnostics that run while the pod has its
// GPUs, and the deep diagnostic, which the GPUs may have passed before. Only the node knows which of them it
// has.
inline constexpr std::array<std::string_view, 11> kPodTests{
    "gpu.compute",     "gpu.dcgm",           "gpu.diagnosis", "gpu.memory_bandwidth",
    "gpu.memory_test", "gpu.nccl_allreduce", "gpu.p2p",       "gpu.pcie_bandwidth",
    "gpu.sdc",         "network.ping",       "self_test"};

}  // namespace autopilot
