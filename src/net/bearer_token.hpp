// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "net/http.hpp"

namespace autopilot::net {

// That a request shows as `Authorization: Bearer TOKEN`; empty: none.
[[nodiscard]] std::string bearer_token(const HttpRequest& request);

}  // namespace autopilot::net
