// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/test_leave.hpp"

#include <boost/json.hpp>
#include <string_view>
#include <utility>

#include "kube/objects.hpp"

namespace autopilot::diagnostics {

namespace json = boost::json;

namespace {

std::optional<WallTime> time_in(const kube::Node& node, const std::string& key) {
  const std::string* text = annotation_of(node, key);
  if (text == nullptr) return std::nullopt;
  return parse_time(*text).value_or(WallTime{});
}

std::optional<WallTime> order_in(const kube::Node& node, const std::string& key) {
  const std::string* text = annotation_of(node, key);
  if (text == nullptr) return std::nullopt;
  json::error_code error;
  const json::value value = json::parse(*text, error);
  const json::object* order = error ? nullptr : value.if_object();
  const json::value* since = order == nullptr ? nullptr : order->if_contains("since");
  if (since == nullptr || !since->is_string()) return std::nullopt;
  return parse_time(std::string_view(since->get_string().data(), since->get_string().size()));
}

std::string patch_of(const kube::Node& node, json::object annotations) {
  return json::serialize(json::object{{"metadata", json::object{{"resourceVersion", node.meta.version},
                                                                {"annotations", std::move(annotations)}}}});
}

}  // namespace

std::string wants_test_key(const std::string& prefix) {
  return prefix + "/wants-test";
}

std::string may_test_key(const std::string& prefix) {
  return prefix + "/may-test";
}

const std::string* annotation_of(const kube::Node& node, const std::string& key) {
  const auto found = node.meta.annotations.find(key);
  return found == node.meta.annotations.end() ? nullptr : &found->second;
}

TestLeave test_leave(const kube::Node& node, const std::string& prefix) {
  return {.asked = time_in(node, wants_test_key(prefix)),
          .granted = time_in(node, may_test_key(prefix)),
          .ordered = order_in(node, prefix + "/shall-test"),
          .is_held = annotation_of(node, prefix + "/held") != nullptr};
}

std::string ask_leave_patch(const kube::Node& node, const std::string& prefix, WallTime now) {
  return patch_of(node, json::object{{wants_test_key(prefix), kube::api_time(now)}});
}

std::string give_leave_back_patch(const kube::Node& node, const std::string& prefix) {
  return patch_of(node, json::object{{wants_test_key(prefix), nullptr}, {may_test_key(prefix), nullptr}});
}

}  // namespace autopilot::diagnostics
