// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compat/ibm_autopilot/said.hpp"

namespace autopilot::compat::ibm_autopilot {

// Last results of active tests. A GPU in use is not tested: the text then only names its user.
[[nodiscard]] Said pcie_bandwidth(const NodeSnapshot& snapshot, const CheckResult& result);
[[nodiscard]] Said gpu_memory(const NodeSnapshot& snapshot, const CheckResult& result);
[[nodiscard]] Said ping(const NodeSnapshot& snapshot, const CheckResult& result);
// For the whole cluster, if this node started the test. The original has no text for a network that fails:
// faults are listed below its tables.
[[nodiscard]] Said iperf(const NodeSnapshot& snapshot, const CheckResult& result);

}  // namespace autopilot::compat::ibm_autopilot
