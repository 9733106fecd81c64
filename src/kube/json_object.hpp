// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <optional>

#include "core/clock.hpp"

namespace autopilot::kube {

// An opaque JSON object for other folders; only this folder reads its content.
struct JsonObject {
  const boost::json::object& value;
};

// In a patch, null removes the value.
[[nodiscard]] inline boost::json::value time_or_null(const std::optional<WallTime>& time) {
  return time ? boost::json::value(format_time(*time)) : boost::json::value(nullptr);
}

}  // namespace autopilot::kube
