// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/cluster/own_pod.hpp"

#include <boost/json.hpp>

#include "core/stable_hash.hpp"

namespace autopilot::diagnostics {

namespace json = boost::json;

namespace {

constexpr std::string_view kContainer = "agent";

std::string word_of_pod(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

bool is_true(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

// The objects of the list `list` of the member `part`; empty if it is missing.
std::vector<const json::object*> objects_at(const json::object& root, std::string_view part,
                                            std::string_view list) {
  const json::value* member = root.if_contains(part);
  const json::object* object = member == nullptr ? nullptr : member->if_object();
  const json::value* items = object == nullptr ? nullptr : object->if_contains(list);
  std::vector<const json::object*> found;
  if (items == nullptr || !items->is_array()) return found;
  for (const json::value& item : items->get_array())
    if (const json::object* one = item.if_object()) found.push_back(one);
  return found;
}

}  // namespace

Result<OwnPod> parse_own_pod(std::string_view text) {
  json::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  const json::object* pod = error ? nullptr : value.if_object();
  if (pod == nullptr) return fail(Errc::malformed, "no JSON object");
  OwnPod own;
  const auto containers = objects_at(*pod, "spec", "containers");
  for (const json::object* container : containers)
    if (containers.size() == 1 || word_of_pod(*container, "name") == kContainer)
      own.image = word_of_pod(*container, "image");
  for (const json::object* owner : objects_at(*pod, "metadata", "ownerReferences")) {
    if (!is_true(*owner, "controller") || word_of_pod(*owner, "kind") != "DaemonSet") continue;
    own.owner = OwnerReference{.api_version = word_of_pod(*owner, "apiVersion"),
                               .kind = word_of_pod(*owner, "kind"),
                               .name = word_of_pod(*owner, "name"),
                               .uid = word_of_pod(*owner, "uid")};
  }
  return own;
}

std::string node_label_value(std::string_view node) {
  constexpr std::size_t kLongest = 63;
  if (node.size() <= kLongest) return std::string(node);
  const std::string digits = stable_hash(node).hex();
  return std::string(node.substr(0, kLongest - digits.size() - 1)) + "-" + digits;
}

}  // namespace autopilot::diagnostics
