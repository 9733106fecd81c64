// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "net/http_server.hpp"
#include "net/request_reader.hpp"
#include "net/router.hpp"
#include "net/server_core.hpp"

namespace autopilot::net {

// What follows from the head of a request, before anything of its body is read.
struct Admission {
  Router::Match match;                  // of the route; without a handler where it is refused
  std::size_t body_bytes = 0;           // that the route takes
  std::optional<HttpResponse> refusal;  // the host, the origin, the path, the method or the peer
};

// On the loop's thread; counts what it refuses for its host.
[[nodiscard]] Admission admit(HttpServer::Core& core, const Listener& listener, const Peer& peer,
                              const ReadRequest& head);

}  // namespace autopilot::net
