// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "net/http_server.hpp"

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

// The table of routes. Plain data, one owner.
class Router {
 public:
  void add(std::string_view method, std::string_view pattern, Handler handler, RouteOptions options);

  struct Match {
    const Handler* handler = nullptr;  // null: refused with `status`
    RouteOptions options;
    int status = 200;   // 404 or 405 without a handler
    std::string allow;  // for 405: "GET, HEAD"
    std::map<std::string, std::string, std::less<>> parameters;
  };
  // HEAD matches GET. Literal segments take precedence over parameters; the earliest difference decides.
  [[nodiscard]] Match find(std::string_view method, const std::vector<std::string>& segments) const;

 private:
  struct Segment {
    bool is_parameter = false;
    std::string text;
  };
  struct Route {
    std::string method;
    std::vector<Segment> segments;
    Handler handler;
    RouteOptions options;
  };
  [[nodiscard]] static bool fits(const Route& route, const std::vector<std::string>& segments);
  [[nodiscard]] static bool is_more_literal(const Route& a, const Route& b);

  std::vector<Route> routes_;
};

}  // namespace autopilot::net
