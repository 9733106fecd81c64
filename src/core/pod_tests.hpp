// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace autopilot {

// Ids of the tests that a pod can ask for before it begins: those that a node makes while the pod has its
// GPUs, and the deep test, which may have proven them before. Which of them a node has is known there alone.
inline constexpr std::array<std::string_view, 11> kPodTests{
    "gpu.compute",     "gpu.dcgm",           "gpu.diagnosis", "gpu.memory_bandwidth",
    "gpu.memory_test", "gpu.nccl_allreduce", "gpu.p2p",       "gpu.pcie_bandwidth",
    "gpu.sdc",         "network.ping",       "self_test"};

}  // namespace autopilot
