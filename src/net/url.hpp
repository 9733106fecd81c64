// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::net {

// An IP address and a port. The address is empty if the text has only a port (":3333").
struct IpPort {
  std::string address;  // "127.0.0.1", "::1"
  std::uint16_t port = 0;
};

// Accepts "127.0.0.1:3333", "[::1]:3333", ":3333", and localhost as 127.0.0.1. Other host names are
// malformed: this function makes no DNS query.
[[nodiscard]] Result<IpPort> parse_ip_port(std::string_view text);
// Puts an IPv6 address in brackets.
[[nodiscard]] std::string to_string(const IpPort& address);

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

// nullopt if a % is not followed by two hexadecimal digits, or encodes a NUL byte.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);
// Encodes all but unreserved characters as %XX; keeps '/' if keep_slashes.
[[nodiscard]] std::string percent_encode(std::string_view text, bool keep_slashes);

// The target of a request line: "/v1/checks/gpu.xid?view=short", or the same after "http://host".
struct RequestTarget {
  std::vector<std::string>
      segments;      // each decoded separately, so that %2F does not split: {"v1", "checks", ...}
  std::string path;  // decoded
  std::map<std::string, std::string, std::less<>> query;
};
[[nodiscard]] Result<RequestTarget> parse_request_target(std::string_view text);

}  // namespace autopilot::net
