// SPDX-License-Identifier: Apache-2.0
#include "api/openapi.hpp"

#include <map>
#include <string>

namespace autopilot::api {

// Generated from the files that CMakeLists.txt names.
const std::map<std::string, std::string>& embedded_documents();

std::string_view openapi_yaml() {
  return embedded_documents().at("openapi.yaml");
}

}  // namespace autopilot::api
