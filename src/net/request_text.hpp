// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "net/http.hpp"

namespace autopilot::net {

enum class ConnectionUse { closed_after, kept };

// The bytes of a request. Path and query are encoded; control characters in headers become spaces.
[[nodiscard]] std::string format_request(const HttpRequest& request, std::string_view host,
                                         ConnectionUse use = ConnectionUse::closed_after);

}  // namespace autopilot::net
