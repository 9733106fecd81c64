// SPDX-License-Identifier: Apache-2.0
#include "controller/node_marks.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <cstddef>
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
          .shall_test = prefix + "/shall-test",
          .hold = prefix + "/hold"};
}

std::string held_label(std::string_view cause) {
  constexpr std::size_t kLongestLabel = 63;
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const auto is_allowed = [&](char c) { return is_plain(c) || c == '-' || c == '_' || c == '.'; };
  const bool is_label = !cause.empty() && cause.size() <= kLongestLabel && is_plain(cause.front()) &&
                        is_plain(cause.back()) && std::ranges::all_of(cause, is_allowed);
  return is_label ? std::string(cause) : "true";
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
