// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "agent/agent.hpp"
#include "agent/cluster_link.hpp"
#include "agent/compat/ibm_routes.hpp"
#include "agent/test_runs.hpp"
#include "config/config.hpp"
#include "core/result.hpp"
#include "net/event_loop.hpp"
#include "net/http_server.hpp"
#include "runtime/operations.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::fleet {

// The paths of IBM Autopilot of one simulated agent. Nobody can have anything tested there, and the pods of a
// job are told to nobody. On the loop's thread.
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
  [[nodiscard]] agent::IbmContext context(const config::Config& config);
  void list_agents(const std::function<void(const Result<std::vector<agent::Peer>>& peers)>& done);

  const Parts parts_;
  runtime::Operations operations_;  // of no kind
  agent::TestRuns tests_;
  agent::Peer self_;
  agent::IbmRoutes routes_;
  net::HttpServer server_;
};

}  // namespace autopilot::fleet
