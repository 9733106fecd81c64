// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace autopilot::net {

// URL of a server: "https://10.0.0.1:6443", "http://[::1]:8080/prefix".
struct ServerUrl {
  bool is_tls = false;
  std::string host;  // name or address, without brackets
  std::uint16_t port = 0;
  std::string path;  // prefix of every path: "" or "/prefix"
};

// The default port is that of the scheme. malformed: another scheme, a user, a query, or a missing host.
[[nodiscard]] Result<ServerUrl> parse_server_url(std::string_view text);
[[nodiscard]] std::string to_string(const ServerUrl& url);
// Value of the Host header; it omits the default port of the scheme.
[[nodiscard]] std::string host_header(const ServerUrl& url);

}  // namespace autopilot::net
