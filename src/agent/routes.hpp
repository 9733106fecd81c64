// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/event_streams.hpp"
#include "agent/metrics.hpp"
#include "api/v1.hpp"
#include "kube/callers/guard.hpp"
#include "net/http_server.hpp"
#include "net/node_keys.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// What the routes use. Everything is used on the loop's thread and outlives the server.
struct RouteContext {
  runtime::Runtime& runtime;
  const Clock& clock;
  MetricsExporter& metrics;
  std::function<std::optional<net::TlsStatus>()> tls;  // empty: TLS is off
  std::function<preflight::GateStats()> gate_stats;
  EventStreams& streams;
  std::function<void()> poll_soon;  // after something was asked of the runtime
  // Injects a fault; an error states why it cannot.
  std::function<Status(const api::InjectRequest& request)> inject;
  kube::CallerRights rights;
  std::function<std::string()> further_metrics;  // of jobs and history, as Prometheus text; may be empty
};

// Every path of api/openapi.yaml except those of operations (operation_routes.hpp) and jobs (jobs/).
void add_node_routes(net::HttpServer& server, const RouteContext& context);

}  // namespace autopilot::agent
