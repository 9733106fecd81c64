// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/agent.hpp"
#include "agent/cluster_link.hpp"
#include "compat/ibm_autopilot/service/ibm_routes.hpp"
#include "config/config.hpp"
#include "core/result.hpp"
#include "diagnostics/operations/operations.hpp"
#include "diagnostics/operations/test_runs.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::fleet {

// The paths of IBM Autopilot of one simulated agent. They start no diagnostic, and do not list the pods of a
// job. On the loop's thread.
class HttpDoor {
 public:
  struct Parts {
    net::EventLoop& loop;
    runtime::Runtime& runtime;
    const agent::Machine& machine;
    agent::ClusterLink& cluster;
    std::function<void()> poll_soon;
  };

  // config: of the agent; used no longer than this call. The rest is used until the end.
  HttpDoor(const Parts& parts, const config::Config& config);

  // "10.217.0.1:3333": other agents are asked at the same port.
  [[nodiscard]] Status listen(const std::string& address);

 private:
  [[nodiscard]] compat::ibm_autopilot::IbmContext context(const config::Config& config);
  void list_agents(const std::function<void(const Result<std::vector<Peer>>& peers)>& done);

  const Parts parts_;
  diagnostics::Operations operations_;  // of no kind
  diagnostics::TestRuns tests_;
  Peer self_;
  compat::ibm_autopilot::IbmRoutes routes_;
  net::HttpServer server_;
};

}  // namespace autopilot::fleet
