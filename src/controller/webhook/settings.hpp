// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/clock.hpp"

namespace autopilot::controller {

// What counts as an accelerator. Names of resources; one that ends with '*' stands for all that begin so.
// Shares of a GPU that others use at the same time do not belong here: a test would take the GPU from them.
struct AcceleratorNames {
  std::vector<std::string> resources{"nvidia.com/gpu", "nvidia.com/mig-*", "amd.com/gpu"};
  // A claim (DRA) counts as one for accelerators: which devices it stands for is not seen in a pod.
  bool has_claims = true;
};

// What pods get before they begin, docs/preflight.md. Each member is taken as it is; none is looked up.
struct WebhookSettings {
  std::string image;  // with its digest, as the agents run it: it is on the node then
  std::string
      agent_url;  // "https://10.96.0.12:3334". An address works for pods that ask the node's name servers
  std::string authority;  // PEM of the certificates that sign those of agents
  AcceleratorNames accelerators;
  std::vector<std::string> default_tests;  // ids; empty: those that the agent chooses
  Duration deadline = std::chrono::seconds{60};
  std::string prefix = "autopilot.ibm.com";  // of annotations
};

// What training pods get in namespaces that want it.
struct ObservationSettings {
  AcceleratorNames accelerators;
  std::string prefix = "autopilot.ibm.com";  // of annotations
};

}  // namespace autopilot::controller
