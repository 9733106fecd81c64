// SPDX-License-Identifier: Apache-2.0
#include "net/sse.hpp"

#include <algorithm>
#include <utility>

namespace autopilot::net {

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
