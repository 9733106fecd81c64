// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "net/http.hpp"

namespace autopilot::net {

// The token of the header `Authorization: Bearer TOKEN`; empty if the request has none.
[[nodiscard]] std::string bearer_token(const HttpRequest& request);

}  // namespace autopilot::net
