// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/callers/guard.hpp"
#include "agent/event_streams.hpp"
#include "agent/exporters/metrics.hpp"
#include "agent/tls/node_keys.hpp"
#include "api/v1.hpp"
#include "net/http_server.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// What the routes stand on. Everything is used on the loop's thread and outlives the server.
struct RouteContext {
  runtime::Runtime& runtime;
  const Clock& clock;
  MetricsExporter& metrics;
  std::function<std::optional<TlsStatus>()> tls;  // nothing: it is off
  std::function<GateStats()> gate_stats;
  EventStreams& streams;
  std::function<void()> poll_soon;  // after something was asked of the runtime
  // Makes a fault appear; an error says why not.
  std::function<Status(const api::InjectRequest& request)> inject;
  CallerRights rights;
};

// Every path of api/openapi.yaml except those of operations (operation_routes.hpp).
void add_node_routes(net::HttpServer& server, const RouteContext& context);

}  // namespace autopilot::agent
