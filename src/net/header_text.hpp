// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace autopilot::net {

// Appends one line of a request's or an answer's head. A control character of the value becomes a space: it
// begins no line of its own.
inline void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value)
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  out += "\r\n";
}

}  // namespace autopilot::net
