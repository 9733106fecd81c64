// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/clock.hpp"

namespace autopilot::kube {

// Whole seconds, the precision of times in the Kubernetes API.
[[nodiscard]] inline std::string api_time(WallTime time) {
  const std::string text = format_time(time);
  return text.substr(0, text.find('.')) + "Z";
}

}  // namespace autopilot::kube
