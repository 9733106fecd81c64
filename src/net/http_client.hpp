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

// Where a server listens: a Unix socket, or an IP address and port. Names are not looked up, except
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
  Duration deadline = std::chrono::seconds{10};  // for the whole exchange
  std::size_t header_bytes = 16 * 1024;
  std::size_t body_bytes = std::size_t{32} << 20;  // exhausted beyond
};

// One exchange on a new connection. Uses method, path, query, headers and body of the request; path and query
// are encoded here. Blocks until the answer is complete or the deadline has passed. Any status is an answer.
// unavailable: nobody listens, or the connection broke; denied: the socket may not be opened; malformed: not
// HTTP.
[[nodiscard]] Result<HttpResponse> send_request(const HttpTarget& target, const HttpRequest& request,
                                                const ClientLimits& limits = {});

struct FollowOptions {
  std::string last_event_id;                             // empty: from now on
  Duration silence_deadline = std::chrono::seconds{60};  // unavailable when nothing comes, not even a comment
  std::size_t event_bytes = 1024 * 1024;                 // exhausted beyond
};

// Server-sent events: calls `on_event` for each until it returns false or `stop` becomes true (seen within
// 200 ms); both are success. An error when the connection fails, ends, or the answer is not 200; the caller
// may follow again from the last id it has seen.
[[nodiscard]] Status follow(const HttpTarget& target, const HttpRequest& request,
                            const FollowOptions& options,
                            const std::function<bool(const ServerEvent&)>& on_event,
                            const std::atomic<bool>& stop);

}  // namespace autopilot::net
