// SPDX-License-Identifier: Apache-2.0
#include "net/http.hpp"

namespace autopilot::net {

namespace {

void append_json_string(std::string& out, std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f || byte >= 0x80) {
      // The message can quote bytes of a client, which need not be UTF-8.
      out += byte < 0x80 ? "\\u00" : "\\ufffd";
      if (byte < 0x80) {
        out += kHex[byte >> 4];
        out += kHex[byte & 0xf];
      }
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

int status_of(Errc code) {
  switch (code) {
    case Errc::malformed:
      return 400;
    case Errc::denied:
      return 403;
    case Errc::not_found:
      return 404;
    case Errc::conflict:
      return 409;
    case Errc::unsupported:
      return 501;
    case Errc::unavailable:
    case Errc::exhausted:
      return 503;
    case Errc::timed_out:
      return 504;
    case Errc::internal:
      break;
  }
  return 500;
}

HttpResponse error_response(int status, std::string_view code, std::string_view message) {
  HttpResponse response;
  response.status = status;
  response.body = R"({"error":{"code":)";
  append_json_string(response.body, code);
  response.body += R"(,"message":)";
  append_json_string(response.body, message);
  response.body += "}}\n";
  return response;
}

HttpResponse error_response(const Error& error) {
  return error_response(status_of(error.code), to_string(error.code), error.what);
}

}  // namespace autopilot::net
