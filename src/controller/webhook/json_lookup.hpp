// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

// What stands in an object that an API server has not checked yet, by the names on the way there. What is
// missing, or of another kind, is nothing. Pointers and texts are valid as long as the object.
namespace autopilot::controller {

using Names = std::initializer_list<std::string_view>;

[[nodiscard]] const boost::json::value* value_at(const boost::json::object& object, Names names);
[[nodiscard]] const boost::json::object* object_at(const boost::json::object& object, Names names);
[[nodiscard]] const boost::json::array* array_at(const boost::json::object& object, Names names);
// Those of a list; what else stands in it is left out.
[[nodiscard]] std::vector<const boost::json::object*> objects_at(const boost::json::object& object,
                                                                 Names names);
// Empty where there is no text.
[[nodiscard]] std::string_view text_at(const boost::json::object& object, Names names);
[[nodiscard]] std::string_view text_of(const boost::json::value& value);
// As the API writes whole numbers. Those with a fraction or an exponent are nothing: they are read a little
// different each time, and a pod that has one is refused after us.
[[nodiscard]] std::optional<std::int64_t> number_at(const boost::json::object& object, Names names);

}  // namespace autopilot::controller
