// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

namespace autopilot::controller {

// By which people find what a controller made, as what the chart made.
[[nodiscard]] inline std::map<std::string, std::string, std::less<>> object_labels() {
  return {{"app", "autopilot"},
          {"app.kubernetes.io/name", "autopilot"},
          {"app.kubernetes.io/component", "controller"}};
}

}  // namespace autopilot::controller
