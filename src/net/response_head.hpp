// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "net/http.hpp"

namespace autopilot::net {

[[nodiscard]] std::string_view reason_phrase(int status);

// How the head of an answer ends the exchange.
struct Framing {
  unsigned minor_version = 1;  // of the request
  bool is_keep_alive = false;  // of this connection, after this answer
  bool has_open_end = false;   // no length: the answer ends with the connection
};

// For a client whose connection is refused, or closed in favour of others.
[[nodiscard]] HttpResponse too_many_connections();
// For a client whose request or answer has no room among those that are under way.
[[nodiscard]] HttpResponse no_bytes_left();

// Status line and headers with the empty line. Control characters in values become blanks, so that no value
// can begin another header.
[[nodiscard]] std::string format_head(const HttpResponse& response, Framing framing);

}  // namespace autopilot::net
