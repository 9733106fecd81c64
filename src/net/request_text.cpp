// SPDX-License-Identifier: Apache-2.0
#include "net/request_text.hpp"

#include "net/header_text.hpp"
#include "net/url.hpp"

namespace autopilot::net {

std::string format_request(const HttpRequest& request, std::string_view host, ConnectionUse use) {
  std::string out = request.method + " " + percent_encode(request.path, true);
  char separator = '?';
  for (const auto& [name, value] : request.query) {
    out += separator + percent_encode(name, false) + "=" + percent_encode(value, false);
    separator = '&';
  }
  out += " HTTP/1.1\r\n";
  append_header(out, "Host", host);
  if (use == ConnectionUse::closed_after) append_header(out, "Connection", "close");
  for (const auto& [name, value] : request.headers)
    append_header(out, name, value);
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD"))
    append_header(out, "Content-Length", std::to_string(request.body.size()));
  out += "\r\n";
  out += request.body;
  return out;
}

}  // namespace autopilot::net
