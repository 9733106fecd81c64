// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "net/http.hpp"

namespace autopilot::net {

enum class ConnectionUse { closed_after, kept };

// The bytes of a request. Path and query are encoded; control characters in headers become spaces.
[[nodiscard]] std::string format_request(const HttpRequest& request, std::string_view host,
                                         ConnectionUse use = ConnectionUse::closed_after);

[[nodiscard]] std::string_view reason_phrase(int status);

// How the head of a response ends the exchange.
struct Framing {
  unsigned minor_version = 1;  // of the request
  bool is_keep_alive = false;  // of this connection, after this response
  bool has_open_end = false;   // no length: the response ends with the connection
};

// For a client whose connection is refused, or closed to make room for others.
[[nodiscard]] HttpResponse too_many_connections();
// For a client whose request or response exceeds the limit of buffered bytes.
[[nodiscard]] HttpResponse no_bytes_left();

// Status line, headers and the empty line. Control characters in values become spaces, so that a value cannot
// begin another header.
[[nodiscard]] std::string format_head(const HttpResponse& response, Framing framing);

}  // namespace autopilot::net
