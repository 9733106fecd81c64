// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/preflight.hpp"
#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/http_client.hpp"
#include "net/server_url.hpp"
#include "net/tls.hpp"

namespace autopilot::cli {

// Which agent is asked.
struct GateDoor {
  net::HttpTarget socket;                      // with a path: over the Unix socket, without a token
  net::ServerUrl url;                          // else there, inside TLS
  std::shared_ptr<const net::TlsContext> tls;  // with whom it trusts, and the name of the node
};
// malformed: what is wrong with one of these. authority: PEM.
[[nodiscard]] Result<GateDoor> gate_door(const std::string& url, const std::string& node,
                                         const std::string& authority);

// What became of asking once.
struct GateAnswer {
  std::optional<api::PreflightResult> result;
  bool may_come = false;  // without a result: it may, when the agent is asked again
  std::string why;        // likewise, in a sentence
};

// Asks, follows what the agent tells, and gives its answer. Gives up after `patience`, later where the agent
// says that it waits longer, or within 200 ms when `stop` becomes true.
[[nodiscard]] GateAnswer ask_gate(const GateDoor& door, const std::string& token,
                                  const api::PreflightRequest& request, Duration patience,
                                  const std::function<void(const api::PreflightProgress&)>& on_progress,
                                  const std::atomic<bool>& stop);

}  // namespace autopilot::cli
