// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/cluster/reservation.hpp"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <string_view>
#include <utility>

#include "core/parse.hpp"
#include "kube/objects.hpp"

namespace autopilot::diagnostics {

namespace json = boost::json;

namespace {

constexpr std::string_view kEffect = "NoSchedule";
constexpr std::int64_t kMaxLevel = 4;
constexpr std::array<std::string_view, 4> kOutcomes{"not_tested", "passed", "failed", "fatal"};

std::string testing_key(const std::string& prefix) {
  return prefix + "/testing";
}

std::string record_key(const std::string& prefix) {
  return prefix + "/deep-test";
}

std::optional<json::object> parse_object(std::string_view text) {
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

std::string_view text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

std::optional<Reservation> parse_reservation(const std::string& text) {
  const auto object = parse_object(text);
  if (!object) return std::nullopt;
  const auto since = parse_time(text_of(*object, "since"));
  const auto until = parse_time(text_of(*object, "until"));
  if (!since || !until || *until <= *since) return std::nullopt;
  return Reservation{std::string(text_of(*object, "holder")), *since, *until};
}

json::object taint_object(const kube::Taint& taint) {
  json::object object{{"key", taint.key}, {"effect", taint.effect}};
  if (!taint.value.empty()) object["value"] = taint.value;
  if (taint.added) object["timeAdded"] = kube::api_time(*taint.added);
  return object;
}

// The list replaces the present one.
json::array other_taints(const kube::Node& node, const std::string& key) {
  json::array taints;
  for (const kube::Taint& taint : node.taints)
    if (taint.key != key) taints.emplace_back(taint_object(taint));
  return taints;
}

std::string patch_of(const kube::Node& node, json::array taints, json::object annotations) {
  json::value list = nullptr;  // none at all
  if (!taints.empty()) list = std::move(taints);
  return json::serialize(json::object{{"metadata", json::object{{"resourceVersion", node.meta.version},
                                                                {"annotations", std::move(annotations)}}},
                                      {"spec", json::object{{"taints", std::move(list)}}}});
}

std::string cut(const std::string& text) {
  return to_printable(text, DeepTestRecord::kMaxText);
}

std::string format_record(const DeepTestRecord& record) {
  json::object object;
  if (record.outcome != DeepTestOutcome::not_tested) {
    object["outcome"] = to_string(record.outcome);
    object["test"] = record.test;
    if (record.level > 0) object["level"] = record.level;
    object["began"] = kube::api_time(record.began);
    object["finished"] = kube::api_time(record.finished);
    if (!record.failed.empty()) object["failed"] = cut(record.failed);
  }
  if (record.tried) object["tried"] = kube::api_time(*record.tried);
  if (record.tried && !record.why.empty()) object["why"] = cut(record.why);
  return json::serialize(object);
}

}  // namespace

std::string_view to_string(DeepTestOutcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)];
}

TestingMarks testing_marks(const kube::Node& node, const std::string& prefix) {
  const std::string key = testing_key(prefix);
  TestingMarks marks;
  marks.has_taint = std::ranges::any_of(node.taints, [&](const auto& taint) { return taint.key == key; });
  if (const std::string* text = annotation_of(node, key)) {
    marks.has_annotation = true;
    marks.reservation = parse_reservation(*text);
  }
  return marks;
}

DeepTestRecord deep_test_record(const kube::Node& node, const std::string& prefix) {
  DeepTestRecord record;
  const std::string* text = annotation_of(node, record_key(prefix));
  const auto object = text == nullptr ? std::nullopt : parse_object(*text);
  if (!object) return record;
  const auto began = parse_time(text_of(*object, "began"));
  const auto finished = parse_time(text_of(*object, "finished"));
  const auto outcome = std::ranges::find(kOutcomes, text_of(*object, "outcome"));
  if (began && finished && outcome != kOutcomes.end()) {
    record.outcome = static_cast<DeepTestOutcome>(outcome - kOutcomes.begin());
    record.test = text_of(*object, "test");
    const json::value* level = object->if_contains("level");
    if (level != nullptr && level->is_int64() && level->get_int64() > 0 && level->get_int64() <= kMaxLevel)
      record.level = static_cast<int>(level->get_int64());
    record.began = *began;
    record.finished = *finished;
    record.failed = text_of(*object, "failed");
  }
  record.tried = parse_time(text_of(*object, "tried"));
  record.why = text_of(*object, "why");
  return record;
}

std::string reserve_patch(const kube::Node& node, const std::string& prefix, const Reservation& reservation) {
  const std::string key = testing_key(prefix);
  json::array taints = other_taints(node, key);
  taints.emplace_back(json::object{{"key", key}, {"effect", kEffect}});
  const json::object words{{"holder", reservation.holder},
                           {"since", kube::api_time(reservation.since)},
                           {"until", kube::api_time(reservation.until)}};
  return patch_of(node, std::move(taints), json::object{{key, json::serialize(words)}});
}

std::string release_patch(const kube::Node& node, const std::string& prefix, const DeepTestRecord& record) {
  const std::string key = testing_key(prefix);
  json::object annotations{{key, nullptr}, {record_key(prefix), format_record(record)}};
  if (test_leave(node, prefix).any()) {
    annotations[wants_test_key(prefix)] = nullptr;
    annotations[may_test_key(prefix)] = nullptr;
  }
  return patch_of(node, other_taints(node, key), std::move(annotations));
}

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
