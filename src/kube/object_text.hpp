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

// Values in an object of the API, by the member names of their path. A value that is missing or of another
// type is empty: an API server has validated its objects, and fields change with its version.
namespace autopilot::kube {

using Names = std::initializer_list<std::string_view>;

[[nodiscard]] const boost::json::value* value_at(const boost::json::object& object, Names names);
[[nodiscard]] const boost::json::object* object_at(const boost::json::object& object, Names names);
[[nodiscard]] const boost::json::array* array_at(const boost::json::object& object, Names names);
// Valid as long as the object; empty if there is no string.
[[nodiscard]] std::string_view text_at(const boost::json::object& object, Names names);
[[nodiscard]] std::optional<std::int64_t> number_at(const boost::json::object& object, Names names);
[[nodiscard]] bool flag_at(const boost::json::object& object, Names names);

// In a patch, null removes the value.
[[nodiscard]] boost::json::value time_or_null(const std::optional<WallTime>& time);

}  // namespace autopilot::kube
