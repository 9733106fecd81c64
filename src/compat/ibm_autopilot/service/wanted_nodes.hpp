// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "compat/ibm_autopilot/service/selected_nodes.hpp"
#include "compat/ibm_autopilot/status_request.hpp"
#include "kube/callers/guard.hpp"
#include "net/http.hpp"

namespace autopilot::compat::ibm_autopilot {

// Who finds nodes, and for whom. Empty functions: there is no cluster to ask.
struct NodeFinder {
  kube::CallerRights rights;
  std::function<void(const std::string& selector, SelectedNodes::OnNames on_names)> labeled;
  std::function<void(const std::string& name_space, const std::string& selector,
                     SelectedNodes::OnNames on_names)>
      of_pods;
  bool is_open = false;  // anybody may know which nodes have pods of a namespace
};

// What `job` and `nodelabel` of a question stand for.
struct WantedNodes {
  std::string said;  // lines about it, each with its end; empty where neither was named
  SelectedNodes::Names nodes;
};

// Which nodes have pods of a namespace is told only to callers who may list these pods, unless it is open;
// anybody may name nodes by their labels. Calls back at once, or later; the request may be gone then.
void find_wanted_nodes(const NodeFinder& finder, const compat::ibm_autopilot::StatusRequest& wanted,
                       const net::HttpRequest& request, std::function<void(WantedNodes found)> on_found);

}  // namespace autopilot::compat::ibm_autopilot
