// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace autopilot::net {

// nullopt if a % is not followed by two hexadecimal digits, or encodes a NUL byte.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);
// Encodes all but unreserved characters as %XX; keeps '/' if keep_slashes.
[[nodiscard]] std::string percent_encode(std::string_view text, bool keep_slashes);

// The target of a request line: "/v1/checks/gpu.xid?view=short", or the same after "http://host".
struct RequestTarget {
  std::vector<std::string>
      segments;      // each decoded separately, so that %2F does not split: {"v1", "checks", ...}
  std::string path;  // decoded
  std::map<std::string, std::string, std::less<>> query;
};
[[nodiscard]] Result<RequestTarget> parse_request_target(std::string_view text);

}  // namespace autopilot::net
