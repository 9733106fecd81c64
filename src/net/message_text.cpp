// SPDX-License-Identifier: Apache-2.0

#include "net/message_text.hpp"

#include <algorithm>

#include "net/url.hpp"

namespace autopilot::net {

namespace {

// Appends one header line of a request or response. A control character in the value becomes a space, so that
// it cannot begin a new line.
void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value)
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  out += "\r\n";
}

}  // namespace

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
