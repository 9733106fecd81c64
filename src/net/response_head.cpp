// SPDX-License-Identifier: Apache-2.0
#include "net/response_head.hpp"

#include <algorithm>

#include "net/header_text.hpp"

namespace autopilot::net {

namespace {

bool has_no_content(int status) {
  return status < 200 || status == 204 || status == 304;
}

bool says(const HttpResponse& response, std::string_view name) {
  return std::ranges::any_of(response.headers, [name](const auto& header) { return header.first == name; });
}

}  // namespace

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Other";
  }
}

HttpResponse too_many_connections() {
  return error_response(503, "exhausted", "too many connections; try again");
}

HttpResponse no_bytes_left() {
  return error_response(503, "exhausted", "the server's buffers are full; try again");
}

std::string format_head(const HttpResponse& response, Framing framing) {
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
  out += reason_phrase(response.status);
  out += "\r\n";
  if (!has_no_content(response.status)) {
    append_header(out, "Content-Type", response.content_type);
    if (!framing.has_open_end)
      append_header(out, "Content-Length",
                    std::to_string((response.shared_body ? *response.shared_body : response.body).size()));
  }
  if (!says(response, "Cache-Control")) append_header(out, "Cache-Control", "no-store");
  append_header(out, "X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers)
    append_header(out, name, value);
  // HTTP/1.1 keeps the connection open by default, HTTP/1.0 closes it.
  if (!framing.is_keep_alive)
    append_header(out, "Connection", "close");
  else if (framing.minor_version == 0)
    append_header(out, "Connection", "keep-alive");
  out += "\r\n";
  return out;
}

}  // namespace autopilot::net
