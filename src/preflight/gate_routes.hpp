// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "net/http_server.hpp"
#include "preflight/gate.hpp"
#include "preflight/pod_callers.hpp"

namespace autopilot::preflight {

// What the route of the gate stands on. Everything is used on the loop's thread and outlives the server.
struct GateContext {
  // Null while there is none yet.
  std::function<PreflightGate*()> gate;
  // PodCallers::ask. Empty: there is no cluster to ask, and nobody but the Unix socket may.
  std::function<void(const std::string& token, PodCallers::OnAnswer on_answer)> ask;
};

// How long somebody waits who wants no events: well within the minute in which a server must answer.
inline constexpr Duration kLongestSilence = std::chrono::seconds{50};

// POST /v1/preflight of api/openapi.yaml. A token is taken inside TLS alone: whoever reads it may ask in the
// name of the pod.
void add_gate_routes(net::HttpServer& server, const GateContext& context);

}  // namespace autopilot::preflight
