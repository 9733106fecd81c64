// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::net {

// The names under which a TCP listener may be asked; see TcpPolicy.
class HostPolicy {
 public:
  // `bound_address`: the listener's own, as the system prints it: "127.0.0.1", "::", "10.0.0.5". `scheme`:
  // that it is asked by.
  HostPolicy(std::string bound_address, std::vector<std::string> allowed_hosts, std::string scheme = "http");

  // `host`: the Host header; empty only for HTTP/1.0, which no browser speaks. `origin`: the Origin header or
  // nullptr. denied says which of both.
  [[nodiscard]] Status check(std::string_view host, const std::string* origin) const;

 private:
  [[nodiscard]] bool allows(std::string_view name) const;

  std::string bound_address_;
  std::vector<std::string> allowed_hosts_;
  std::string scheme_;
};

}  // namespace autopilot::net
