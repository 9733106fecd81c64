// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "core/clock.hpp"

namespace autopilot::kube {

// An opaque JSON object for other folders; only this folder reads its content.
struct JsonObject {
  const boost::json::object& value;
};

// nullopt: the text is not a JSON object.
[[nodiscard]] inline std::optional<boost::json::object> parse_object(std::string_view text) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

// In a patch, null removes the value.
[[nodiscard]] inline boost::json::value time_or_null(const std::optional<WallTime>& time) {
  return time ? boost::json::value(format_time(*time)) : boost::json::value(nullptr);
}

}  // namespace autopilot::kube
