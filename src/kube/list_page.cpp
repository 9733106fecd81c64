// SPDX-License-Identifier: Apache-2.0
#include "kube/list_page.hpp"

#include <boost/json.hpp>

#include "kube/json_object.hpp"
#include "kube/object_text.hpp"

namespace autopilot::kube {

namespace json = boost::json;

Result<std::string> read_list_page(std::string_view json,
                                   const std::function<void(const JsonObject& object)>& take) {
  json::error_code error;
  const json::value value = json::parse({json.data(), json.size()}, error);
  const json::object* list = error ? nullptr : value.if_object();
  const json::array* items = list == nullptr ? nullptr : array_at(*list, {"items"});
  if (items == nullptr) return fail(Errc::malformed, "not a list of the API");
  for (const json::value& item : *items)
    if (const json::object* object = item.if_object()) take({*object});
  return std::string(text_at(*list, {"metadata", "continue"}));
}

Status read_object(std::string_view json, const std::function<void(const JsonObject& object)>& take) {
  json::error_code error;
  const json::value value = json::parse({json.data(), json.size()}, error);
  const json::object* object = error ? nullptr : value.if_object();
  if (object == nullptr) return fail(Errc::malformed, "not a JSON object");
  take({*object});
  return {};
}

}  // namespace autopilot::kube
