// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

// Names of the parts of the simulated cluster, from their indexes.
namespace autopilot::simulated_jobs {

[[nodiscard]] std::string node_name(int node);
[[nodiscard]] std::string leaf_name(int leaf);
[[nodiscard]] std::string nic_name(int nic);

}  // namespace autopilot::simulated_jobs
