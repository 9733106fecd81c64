// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kube/access.hpp"
#include "kube/credentials.hpp"

namespace autopilot::kube {

// How the cluster is reached: what only the one who started the process knows.
struct ClusterDoor {
  Access access;
  ReadFile read_file;
  RunPlugin run_plugin;
  std::string name_space;  // of what is ours
  std::string pod = {};    // that this process runs in, of that namespace; empty: not known, or none
};

}  // namespace autopilot::kube
