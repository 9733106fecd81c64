// SPDX-License-Identifier: Apache-2.0
#include "kube/object_text.hpp"

#include <boost/json.hpp>

namespace autopilot::kube {

namespace json = boost::json;

const json::value* value_at(const json::object& object, Names names) {
  const json::object* here = &object;
  const json::value* value = nullptr;
  for (const std::string_view name : names) {
    value = here == nullptr ? nullptr : here->if_contains(name);
    here = value == nullptr ? nullptr : value->if_object();
  }
  return value;
}

const json::object* object_at(const json::object& object, Names names) {
  const json::value* value = value_at(object, names);
  return value == nullptr ? nullptr : value->if_object();
}

const json::array* array_at(const json::object& object, Names names) {
  const json::value* value = value_at(object, names);
  return value == nullptr ? nullptr : value->if_array();
}

std::string_view text_at(const json::object& object, Names names) {
  const json::value* value = value_at(object, names);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

std::optional<std::int64_t> number_at(const json::object& object, Names names) {
  const json::value* value = value_at(object, names);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  json::error_code error;
  const auto number = value->to_number<std::int64_t>(error);
  return error ? std::nullopt : std::optional(number);
}

bool flag_at(const json::object& object, Names names) {
  const json::value* value = value_at(object, names);
  return value != nullptr && value->is_bool() && value->get_bool();
}

json::value time_or_null(const std::optional<WallTime>& time) {
  return time ? json::value(format_time(*time)) : json::value(nullptr);
}

}  // namespace autopilot::kube
