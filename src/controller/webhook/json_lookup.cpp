// SPDX-License-Identifier: Apache-2.0
#include "controller/webhook/json_lookup.hpp"

namespace autopilot::controller {

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

std::vector<const json::object*> objects_at(const json::object& object, Names names) {
  std::vector<const json::object*> members;
  const json::array* list = array_at(object, names);
  if (list == nullptr) return members;
  for (const json::value& item : *list)
    if (const json::object* member = item.if_object()) members.push_back(member);
  return members;
}

std::string_view text_at(const json::object& object, Names names) {
  const json::value* value = value_at(object, names);
  return value == nullptr ? std::string_view() : text_of(*value);
}

std::string_view text_of(const json::value& value) {
  const json::string* text = value.if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

std::optional<std::int64_t> number_at(const json::object& object, Names names) {
  const json::value* value = value_at(object, names);
  if (value == nullptr || !(value->is_int64() || value->is_uint64())) return std::nullopt;
  json::error_code error;
  const auto number = value->to_number<std::int64_t>(error);
  return error ? std::nullopt : std::optional(number);
}

}  // namespace autopilot::controller
