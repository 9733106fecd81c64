// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "net/http.hpp"

namespace autopilot::net {

// The text form of server-sent events. Line ends in id and event become spaces; data can have many lines.
[[nodiscard]] std::string format_event(const ServerEvent& event);

// Parses a stream of bytes into events. Accepts LF, CR and CRLF, skips comments, and drops an unfinished last
// event.
class EventParser {
 public:
  explicit EventParser(std::size_t event_bytes) : event_bytes_(event_bytes) {}

  // Calls `on_event` for every event completed by these bytes until it returns false; returns false then.
  // exhausted: an event is larger than allowed.
  [[nodiscard]] Result<bool> feed(std::string_view bytes,
                                  const std::function<bool(const ServerEvent&)>& on_event);

 private:
  [[nodiscard]] bool end_line(const std::function<bool(const ServerEvent&)>& on_event);

  std::size_t event_bytes_;
  std::string line_;
  std::string last_id_;
  ServerEvent event_;
  bool has_data_ = false;
  bool is_after_cr_ = false;
};

}  // namespace autopilot::net
