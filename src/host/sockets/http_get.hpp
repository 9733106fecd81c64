// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/result.hpp"

namespace autopilot::host {

struct HttpPlace {
  std::string address;  // IPv4 or IPv6, no name
  std::uint16_t port = 0;
  std::string path = "/";  // printable, without blanks
};

// The body of a resource over HTTP/1.1 on a new connection, without TLS. Blocks until it is complete or the
// deadline has passed. unavailable: no program listens, the connection broke, or the status is not 200;
// redirects are not followed. timed_out. exhausted: the body is longer than `limit` bytes, or the header than
// 16 KiB. malformed: the answer is not HTTP, or the place is not valid.
[[nodiscard]] Result<std::string> http_get(const HttpPlace& place, std::size_t limit, MonoTime deadline);

// The body of a whole answer, from its status line to the end of the connection. Errors of http_get.
[[nodiscard]] Result<std::string> parse_http_answer(std::string_view answer);

}  // namespace autopilot::host
