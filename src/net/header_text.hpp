// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace autopilot::net {

// Appends one header line of a request or response. A control character in the value becomes a space, so that
// it cannot begin a new line.
inline void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value)
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  out += "\r\n";
}

}  // namespace autopilot::net
