// SPDX-License-Identifier: Apache-2.0
#include "simulator/jobs/names.hpp"

namespace autopilot::simulated_jobs {

std::string node_name(int node) {
  const std::string digits = std::to_string(node + 1);
  return "gpu-" + std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
}

std::string leaf_name(int leaf) {
  return "leaf-" + std::to_string(leaf + 1);
}

std::string nic_name(int nic) {
  return "mlx5_" + std::to_string(nic);
}

}  // namespace autopilot::simulated_jobs
