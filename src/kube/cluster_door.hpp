// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kube/access.hpp"
#include "kube/credentials.hpp"

namespace autopilot::kube {

// Access to the cluster, as given by the process that uses it.
struct ClusterDoor {
  Access access;
  ReadFile read_file;
  RunPlugin run_plugin;
  std::string name_space;  // namespace of Autopilot's objects
  std::string pod = {};    // pod of this process, in that namespace; empty: unknown, or not in a pod
};

}  // namespace autopilot::kube
