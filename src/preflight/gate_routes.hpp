// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "net/http_server.hpp"
#include "preflight/gate.hpp"
#include "preflight/pod_callers.hpp"

namespace autopilot::preflight {

// Inputs of the gate's route. Used on the event loop's thread; they outlive the server.
struct GateContext {
  // Null until the gate exists.
  std::function<PreflightGate*()> gate;
  // PodCallers::ask. Empty: there is no cluster, and only callers on the Unix socket have the permission.
  std::function<void(const std::string& token, PodCallers::OnAnswer on_answer)> ask;
};

// Longest wait of a caller without events: well within the minute in which a server must answer.
inline constexpr Duration kLongestSilence = std::chrono::seconds{50};

// POST /v1/preflight of api/openapi.yaml. Accepts tokens only over TLS: a caller with the token can act as
// the pod.
void add_gate_routes(net::HttpServer& server, const GateContext& context);

}  // namespace autopilot::preflight
