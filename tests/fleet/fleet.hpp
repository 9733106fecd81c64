// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "fleet/planned_faults.hpp"

namespace autopilot::fleet {

struct FleetOptions {
  config::Config config;  // of every agent; kubernetes.kubeconfig names the cluster
  std::vector<std::string> nodes;
  std::string machine;  // of each: a built-in one, a scenario or a tree
  std::vector<PlannedFault> faults;
  Duration heartbeat = std::chrono::minutes{5};
  std::string
      listen;  // "10.217.0.1:3333": of the first one, the next addresses of the others; empty: nowhere
  bool allow_simulated = false;
};

// Agents of machines that do not exist, all in this process, until SIGTERM or SIGINT. Nodes that no fault is
// planned for share one machine; each of the others has its own. Errors are those of the start: a machine
// that cannot be made, a fault of a node that there is not, a cluster that may not be written to.
[[nodiscard]] Status run_fleet(FleetOptions options);

}  // namespace autopilot::fleet
