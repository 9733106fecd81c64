// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "agent/compat/fan_out.hpp"
#include "agent/compat/fresh_looks.hpp"
#include "agent/compat/wanted_nodes.hpp"
#include "compat/ibm_autopilot/check_names.hpp"
#include "net/http_server.hpp"

namespace autopilot::agent {

struct IbmContext {
  LookContext look;
  std::string node;                              // this one
  std::vector<std::string> periodic_checks;      // what "all" means
  std::function<double()> pcie_bandwidth_limit;  // GB/s, as it is configured now
  std::function<void(std::function<void(const Result<std::vector<Peer>>& peers)> done)> peers;
  NodeFinder finder;
};

// The paths of IBM Autopilot, which answer anybody: they read, and start no load. An active check answers
// with its last result. Text, JSON for who accepts application/json, and server-sent events (one for each
// check of this node, or one for each node) for who accepts text/event-stream; the status is always 200.
class IbmRoutes {
 public:
  enum class Form { text, json, events };

  explicit IbmRoutes(IbmContext context);

  void add_to(net::HttpServer& server);

 private:
  void add_check(net::HttpServer& server, const compat::ibm_autopilot::CheckName& check);
  void get_status(const net::HttpRequest& request, net::Responder responder);
  void ask_nodes(const compat::ibm_autopilot::StatusRequest& wanted, const WantedNodes& found, Form form,
                 std::string beginning, net::Responder responder);

  const IbmContext context_;
  FanOut fan_out_;
};

}  // namespace autopilot::agent
