// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "net/http.hpp"

namespace autopilot::net {

// The bytes of a request that closes its connection; path and query are encoded, control characters in
// headers become blanks.
[[nodiscard]] std::string format_request(const HttpRequest& request, std::string_view host);

}  // namespace autopilot::net
