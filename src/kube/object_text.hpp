// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "core/clock.hpp"

namespace boost::json {
class array;
class object;
class value;
}  // namespace boost::json

// What stands in an object of the API, by the names on the way there. What is missing, or of another kind, is
// nothing: an API server has checked its objects, and fields come and go with its version.
namespace autopilot::kube {

using Names = std::initializer_list<std::string_view>;

[[nodiscard]] const boost::json::value* value_at(const boost::json::object& object, Names names);
[[nodiscard]] const boost::json::object* object_at(const boost::json::object& object, Names names);
[[nodiscard]] const boost::json::array* array_at(const boost::json::object& object, Names names);
// Valid as long as the object; empty where there is no text.
[[nodiscard]] std::string_view text_at(const boost::json::object& object, Names names);
[[nodiscard]] std::optional<std::int64_t> number_at(const boost::json::object& object, Names names);
[[nodiscard]] bool flag_at(const boost::json::object& object, Names names);

// In a patch, null takes away what stands there.
[[nodiscard]] boost::json::value time_or_null(const std::optional<WallTime>& time);

}  // namespace autopilot::kube
