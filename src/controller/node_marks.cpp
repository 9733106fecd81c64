// SPDX-License-Identifier: Apache-2.0
#include "controller/node_marks.hpp"

#include <boost/json.hpp>
#include <utility>

namespace autopilot::controller {

namespace json = boost::json;

namespace {

// Empty where the text is none.
json::object object_of(std::string_view text) {
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  json::object* object = error ? nullptr : value.if_object();
  return object == nullptr ? json::object() : std::move(*object);
}

// Empty where there is none of that name.
std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string() : std::string(text->data(), text->size());
}

WallTime time_of(const json::object& object, std::string_view name) {
  return parse_time(text_of(object, name)).value_or(WallTime{});
}

}  // namespace

NodeMarks node_marks(const std::string& prefix) {
  return {.held = prefix + "/held",
          .probation = prefix + "/probation",
          .wants_test = prefix + "/wants-test",
          .may_test = prefix + "/may-test",
          .shall_test = prefix + "/shall-test"};
}

std::string format_hold(const Hold& hold) {
  return json::serialize(json::object{{"plan", hold.plan}, {"since", format_time(hold.since)}});
}

Hold parse_hold(std::string_view text) {
  const json::object object = object_of(text);
  return {.plan = text_of(object, "plan"), .since = time_of(object, "since")};
}

std::string format_probation(const Probation& probation) {
  return json::serialize(json::object{{"plan", probation.plan},
                                      {"until", format_time(probation.until)},
                                      {"next", format_time(probation.next)}});
}

Probation parse_probation(std::string_view text) {
  const json::object object = object_of(text);
  return {
      .plan = text_of(object, "plan"), .until = time_of(object, "until"), .next = time_of(object, "next")};
}

std::string format_test_order(const TestOrder& order) {
  return json::serialize(json::object{{"plan", order.plan}, {"since", format_time(order.since)}});
}

std::optional<std::string_view> annotation(const kube::Node& node, const std::string& name) {
  const auto found = node.meta.annotations.find(name);
  if (found == node.meta.annotations.end()) return std::nullopt;
  return found->second;
}

bool is_probation_taint(const kube::Taint& taint, const NodeMarks& marks) {
  return taint.key == marks.probation && taint.effect == kProbationEffect;
}

}  // namespace autopilot::controller
