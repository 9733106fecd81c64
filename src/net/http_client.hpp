// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"
#include "net/http.hpp"

namespace autopilot::net {

// Address of a server: a Unix socket, or an IP address and port. Host names are not resolved, except
// localhost.
struct HttpTarget {
  std::string socket_path;  // empty: TCP
  std::string address;      // "127.0.0.1", "::1"
  std::uint16_t port = 0;
};

// "unix:/run/autopilot/agent.sock", "/run/autopilot/agent.sock", "127.0.0.1:3333", "[::1]:3333",
// "localhost:3333", "http://localhost:3333".
[[nodiscard]] Result<HttpTarget> parse_target(std::string_view text);
[[nodiscard]] std::string to_string(const HttpTarget& target);

struct ClientLimits {
  Duration deadline = std::chrono::seconds{10};  // of the whole exchange
  std::size_t header_bytes = 16 * 1024;
  std::size_t body_bytes = std::size_t{32} << 20;  // a longer response body is exhausted
};

// Sends one request on a new connection. Uses method, path, query, headers and body of the request; path and
// query are encoded here. Blocks until the response is complete or the deadline has passed. A response with
// any status is a success. unavailable: no program listens, or the connection broke. denied: the user cannot
// open the socket. malformed: the response is not HTTP.
[[nodiscard]] Result<HttpResponse> send_request(const HttpTarget& target, const HttpRequest& request,
                                                const ClientLimits& limits = {});

struct FollowOptions {
  std::string last_event_id;  // empty: only new events
  Duration silence_deadline =
      std::chrono::seconds{60};           // unavailable if not even a comment arrives in this time
  std::size_t event_bytes = 1024 * 1024;  // a larger event is exhausted
};

// Follows server-sent events. Calls `on_event` for each until it returns false or `stop` becomes true
// (noticed within 200 ms); both are success. Returns an error if the connection fails or ends, or if the
// status is not 200. The caller can follow again from the last event id that it received.
[[nodiscard]] Status follow(const HttpTarget& target, const HttpRequest& request,
                            const FollowOptions& options,
                            const std::function<bool(const ServerEvent&)>& on_event,
                            const std::atomic<bool>& stop);

}  // namespace autopilot::net
