// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "net/http_server.hpp"
#include "net/request_reader.hpp"
#include "net/router.hpp"
#include "net/server_core.hpp"

namespace autopilot::net {

// The decision about a request, made from its head before the body is read.
struct Admission {
  Router::Match match;                  // the matched route; has no handler if the request is refused
  std::size_t body_bytes = 0;           // the largest body that the route accepts
  std::optional<HttpResponse> refusal;  // set if the host, origin, path, method or peer is refused
};

// Runs on the loop's thread. Counts each refused Host or Origin header.
[[nodiscard]] Admission admit(HttpServer::Core& core, const Listener& listener, const Peer& peer,
                              const ReadRequest& head);

}  // namespace autopilot::net
