// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::net {

// Where a server is: "https://10.0.0.1:6443", "http://[::1]:8080/prefix".
struct ServerUrl {
  bool is_tls = false;
  std::string host;  // name or address, without brackets
  std::uint16_t port = 0;
  std::string path;  // in front of every path: "" or "/prefix"
};

// Without a port: that of the scheme. malformed: another scheme, a user, a query, no host.
[[nodiscard]] Result<ServerUrl> parse_server_url(std::string_view text);
[[nodiscard]] std::string to_string(const ServerUrl& url);
// What the Host header says: the port is left out where it is that of the scheme.
[[nodiscard]] std::string host_header(const ServerUrl& url);

}  // namespace autopilot::net
