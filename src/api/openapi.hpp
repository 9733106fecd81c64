// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace autopilot::api {

// src/api/openapi.yaml as of the build.
[[nodiscard]] std::string_view openapi_yaml();

}  // namespace autopilot::api
