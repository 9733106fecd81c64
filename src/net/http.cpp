// SPDX-License-Identifier: Apache-2.0

#include "net/http.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/parse.hpp"

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

std::string bearer_token(const HttpRequest& request) {
  constexpr std::string_view scheme = "bearer ";
  const auto found = request.headers.find("authorization");
  if (found == request.headers.end() || found->second.size() <= scheme.size()) return {};
  if (to_lower(found->second.substr(0, scheme.size())) != scheme) return {};
  return found->second.substr(scheme.size());
}

namespace {

void append_field(std::string& out, std::string_view name, std::string value) {
  if (value.empty()) return;
  std::ranges::replace_if(
      value, [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  out += name;
  out += ": ";
  out += value;
  out += '\n';
}

}  // namespace

std::string format_event(const ServerEvent& event) {
  std::string out;
  append_field(out, "id", event.id);
  append_field(out, "event", event.event);
  out += "data: ";
  for (std::size_t i = 0; i < event.data.size(); ++i) {
    const char c = event.data[i];
    if (c == '\r' && i + 1 < event.data.size() && event.data[i + 1] == '\n') continue;
    if (c == '\n' || c == '\r')
      out += "\ndata: ";
    else
      out += c;
  }
  out += "\n\n";
  return out;
}

Result<bool> EventParser::feed(std::string_view bytes,
                               const std::function<bool(const ServerEvent&)>& on_event) {
  for (const char c : bytes) {
    const bool ends_crlf = c == '\n' && is_after_cr_;
    is_after_cr_ = c == '\r';
    if (ends_crlf) continue;
    if (c == '\n' || c == '\r') {
      if (!end_line(on_event)) return false;
      continue;
    }
    if (line_.size() + event_.data.size() >= event_bytes_)
      return fail(Errc::exhausted,
                  "event stream: an event is larger than " + std::to_string(event_bytes_) + " bytes");
    line_ += c;
  }
  return true;
}

bool EventParser::end_line(const std::function<bool(const ServerEvent&)>& on_event) {
  const std::string line = std::exchange(line_, {});
  if (line.empty()) {
    ServerEvent event = std::exchange(event_, {});
    event.id = last_id_;
    if (!std::exchange(has_data_, false)) return true;
    return on_event(event);
  }
  const auto colon = line.find(':');
  const std::string_view name = std::string_view(line).substr(0, colon);
  std::string_view value =
      colon == std::string::npos ? std::string_view() : std::string_view(line).substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  } else if (name == "event") {
    event_.event = value;
  } else if (name == "id") {
    last_id_ = value;
  }
  return true;
}

}  // namespace autopilot::net
