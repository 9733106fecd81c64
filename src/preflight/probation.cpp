// SPDX-License-Identifier: Apache-2.0
#include "preflight/probation.hpp"

#include <boost/json.hpp>

namespace autopilot::preflight {

namespace json = boost::json;

bool is_on_probation(const kube::Node& node, const std::string& prefix, WallTime now) {
  const auto note = node.meta.annotations.find(prefix + "/probation");
  if (note == node.meta.annotations.end()) return false;
  json::error_code error;
  const json::value value = json::parse(note->second, error);
  const json::object* object = error ? nullptr : value.if_object();
  const json::value* until = object == nullptr ? nullptr : object->if_contains("until");
  const json::string* text = until == nullptr ? nullptr : until->if_string();
  const auto time = text == nullptr ? std::nullopt : parse_time({text->data(), text->size()});
  return !time || now < *time;
}

}  // namespace autopilot::preflight
