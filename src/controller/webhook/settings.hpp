// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/clock.hpp"

namespace autopilot::controller {

// Resource names of accelerators; a trailing '*' matches every suffix. Names of GPU shares do not belong
// here: a test would take the GPU from its other users.
struct AcceleratorNames {
  std::vector<std::string> resources{"nvidia.com/gpu", "nvidia.com/mig-*", "amd.com/gpu"};
  // A ResourceClaim counts as a request for accelerators, because a pod does not show its devices.
  bool has_claims = true;
};

// Settings of the pre-flight container (docs/preflight.md). All values are used unchanged, without DNS
// queries.
struct WebhookSettings {
  std::string image;  // with its digest, the same as that of the agents, so that it is already on the node
  std::string
      agent_url;  // "https://10.96.0.12:3334". An address works for pods that ask the node's name servers
  std::string authority;  // PEM: authorities of the agents' certificates
  AcceleratorNames accelerators;
  std::vector<std::string> default_tests;  // ids; empty: the agent chooses
  Duration deadline = std::chrono::seconds{60};
  std::string prefix = "autopilot.ibm.com";  // of annotations
};

// What training pods get in namespaces that want it.
struct ObservationSettings {
  AcceleratorNames accelerators;
  std::string prefix = "autopilot.ibm.com";  // of annotations
};

}  // namespace autopilot::controller
