// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::net {

// The host names that a TCP listener accepts in requests; see TcpPolicy.
class HostPolicy {
 public:
  // `bound_address`: address of the listener as the system prints it, such as "127.0.0.1", "::" or
  // "10.0.0.5". `scheme`: scheme of the listener's URLs.
  HostPolicy(std::string bound_address, std::vector<std::string> allowed_hosts, std::string scheme = "http");

  // `host`: the Host header; empty only for HTTP/1.0, which browsers do not send. `origin`: the Origin header
  // or nullptr. denied: the text names the refused header.
  [[nodiscard]] Status check(std::string_view host, const std::string* origin) const;

 private:
  [[nodiscard]] bool allows(std::string_view name) const;

  std::string bound_address_;
  std::vector<std::string> allowed_hosts_;
  std::string scheme_;
};

}  // namespace autopilot::net
