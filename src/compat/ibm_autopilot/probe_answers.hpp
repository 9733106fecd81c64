// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compat/ibm_autopilot/said.hpp"

namespace autopilot::compat::ibm_autopilot {

// What active tests measured last. A GPU that somebody uses is not tested: who uses it is said, and nothing
// else.
[[nodiscard]] Said pcie_bandwidth(const NodeSnapshot& snapshot, const CheckResult& result);
[[nodiscard]] Said gpu_memory(const NodeSnapshot& snapshot, const CheckResult& result);
[[nodiscard]] Said ping(const NodeSnapshot& snapshot, const CheckResult& result);
// Of the whole cluster, where this node had it tested. The original has no word for a network that fails:
// what is amiss stands below its tables.
[[nodiscard]] Said iperf(const NodeSnapshot& snapshot, const CheckResult& result);

}  // namespace autopilot::compat::ibm_autopilot
