// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace autopilot {

// Expected properties of this machine that the operator configures beyond the catalog; all optional.
struct Expectation {
  std::optional<int> gpu_count;
  std::map<std::string, double, std::less<>> thresholds;  // threshold id -> value in the catalog's unit
  std::vector<std::string> required_checks;               // resolved from the profile for this machine
  std::vector<std::string> ignored_mounts;                // mount points, compared exactly
  std::vector<std::string> ignored_interfaces;            // network interface or "mlx5_0/1", compared exactly
  std::vector<std::string> expected_interfaces;           // interfaces that must be up
};

}  // namespace autopilot
