// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Values in a JSON object, by the member names of their path. A value that is missing or has another type is
// empty, because objects of the API change with its version. Pointers and texts are valid as long as the
// object. The functions are templates, for boost::json::object, so that other folders can include this
// header.
namespace autopilot::kube {

using Names = std::initializer_list<std::string_view>;

template <class Object>
[[nodiscard]] auto value_at(const Object& object, Names names) {
  const Object* here = &object;
  decltype(object.if_contains(std::string_view())) value = nullptr;
  for (const std::string_view name : names) {
    value = here == nullptr ? nullptr : here->if_contains(name);
    here = value == nullptr ? nullptr : value->if_object();
  }
  return value;
}

template <class Object>
[[nodiscard]] const Object* object_at(const Object& object, Names names) {
  const auto* value = value_at(object, names);
  return value == nullptr ? nullptr : value->if_object();
}

template <class Object>
[[nodiscard]] auto array_at(const Object& object, Names names) {
  const auto* value = value_at(object, names);
  return value == nullptr ? nullptr : value->if_array();
}

// The objects in a list, without its other items.
template <class Object>
[[nodiscard]] std::vector<const Object*> objects_at(const Object& object, Names names) {
  std::vector<const Object*> objects;
  if (const auto* list = array_at(object, names))
    for (const auto& item : *list)
      if (const Object* member = item.if_object()) objects.push_back(member);
  return objects;
}

template <class Value>
[[nodiscard]] std::string_view text_of(const Value& value) {
  const auto* text = value.if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

template <class Object>
[[nodiscard]] std::string_view text_at(const Object& object, Names names) {
  const auto* value = value_at(object, names);
  return value == nullptr ? std::string_view() : text_of(*value);
}

// The texts in a list, without its other items.
template <class Object>
[[nodiscard]] std::vector<std::string> texts_at(const Object& object, Names names) {
  std::vector<std::string> texts;
  if (const auto* list = array_at(object, names))
    for (const auto& item : *list)
      if (item.is_string()) texts.emplace_back(text_of(item));
  return texts;
}

// nullopt for a number with a fraction or an exponent: the API refuses it where it expects an integer.
template <class Object>
[[nodiscard]] std::optional<std::int64_t> number_at(const Object& object, Names names) {
  const auto* value = value_at(object, names);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = value->if_int64()) return *number;
  const auto* number = value->if_uint64();
  if (number == nullptr || !std::in_range<std::int64_t>(*number)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

template <class Object>
[[nodiscard]] bool flag_at(const Object& object, Names names) {
  const auto* value = value_at(object, names);
  return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace autopilot::kube
