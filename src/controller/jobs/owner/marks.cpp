// SPDX-License-Identifier: Apache-2.0
#include "controller/jobs/owner/marks.hpp"

#include <boost/json.hpp>
#include <utility>
#include <vector>

#include "core/parse.hpp"
#include "core/text.hpp"
#include "kube/objects.hpp"

namespace autopilot::controller {

namespace json = boost::json;

namespace {

constexpr std::size_t kSentence = 1024;
constexpr std::size_t kWord = 253;
constexpr std::size_t kMaxSources = 8;
constexpr std::size_t kConditionMessage = 1024;

std::string cut(std::string_view text, std::size_t bytes) {
  return std::string(cut_utf8(to_utf8(text.substr(0, bytes)), bytes));
}

void put(json::object& object, std::string_view name, std::string_view text, std::size_t bytes = kWord) {
  if (!text.empty()) object[name] = cut(text, bytes);
}

// Only what is accused: a rank that is merely behind does not count.
void put_culprit(json::object& object, const jobs::Entity& culprit) {
  object["culprit"] = cut(jobs::to_string(culprit), kWord);
  if (!culprit.is_accused()) return;
  put(object, culprit.kind == jobs::EntityKind::leaf ? "leaf" : "node", culprit.node);
  if (culprit.gpu >= 0) object["gpu"] = culprit.gpu;
  put(object, "nic", culprit.nic);
}

void put_sources(json::object& object, const std::vector<std::string>& sources) {
  json::array list;
  for (const std::string& source : sources)
    if (list.size() < kMaxSources) list.emplace_back(cut(source, kWord));
  if (!list.empty()) object["notAvailable"] = std::move(list);
}

// Escapes can make a text six times as long.
std::string within_limit(json::object object) {
  std::string text = json::serialize(object);
  for (const std::string_view name : {"notAvailable", "sentence"}) {
    if (text.size() <= kMaxMarkBytes) break;
    object.erase(name);
    text = json::serialize(object);
  }
  return text;
}

// Reasons of conditions are words in CamelCase.
std::string_view reason_of(jobs::FailureKind kind) {
  switch (kind) {
    case jobs::FailureKind::hardware:
      return "Hardware";
    case jobs::FailureKind::application:
      return "Application";
    case jobs::FailureKind::infrastructure:
      return "Infrastructure";
    case jobs::FailureKind::unclear:
      return "Unclear";
  }
  return {};
}

bool is_same(const json::object& condition, const json::object& other) {
  const auto text = [](const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
  };
  return text(condition, "status") == text(other, "status") &&
         text(condition, "reason") == text(other, "reason") &&
         text(condition, "message") == text(other, "message");
}

json::object condition_of(const jobs::Failure& failure, WallTime now) {
  const std::string time = kube::api_time(now);
  return {{"type", kFailureCondition},
          {"status", "True"},
          {"reason", reason_of(failure.kind)},
          {"message", cut(failure.sentence, kConditionMessage)},
          {"lastTransitionTime", time}};
}

}  // namespace

JobMarks job_marks(const std::string& prefix) {
  return {.health = prefix + "/job-health",
          .failure = prefix + "/job-failure",
          .checkpoint = prefix + "/checkpoint-requested"};
}

const jobs::JobFinding* worst_open(const jobs::JobReport& report) {
  for (const jobs::JobFinding& finding : report.findings)
    if (!finding.resolved) return &finding;
  return nullptr;
}

std::string job_health_mark(const jobs::JobReport& report) {
  json::object object{{"health", jobs::to_string(report.state.health)}};
  if (const jobs::JobFinding* worst = worst_open(report)) {
    object["since"] = format_time(worst->onset);
    object["effect"] = jobs::to_string(worst->effect);
    put_culprit(object, worst->culprit);
    put(object, "finding", worst->id);
    put(object, "sentence", worst->summary, kSentence);
  }
  if (report.failure) object["failure"] = jobs::to_string(report.failure->kind);
  put_sources(object, report.state.not_seen);
  return within_limit(std::move(object));
}

std::string job_failure_mark(const jobs::Failure& failure) {
  json::object object{{"kind", jobs::to_string(failure.kind)}, {"time", format_time(failure.time)}};
  put(object, "cause", failure.cause);
  put_culprit(object, failure.culprit);
  if (failure.rank) object["rank"] = *failure.rank;
  put(object, "sentence", failure.sentence, kSentence);
  put_sources(object, failure.not_available);
  return within_limit(std::move(object));
}

std::string annotation_patch(const std::string& name, std::string_view value) {
  return json::serialize(
      json::object{{"metadata", json::object{{"annotations", json::object{{name, value}}}}}});
}

Result<std::optional<std::string>> failure_condition_patch(std::string_view object_json,
                                                           const jobs::Failure& failure, WallTime now) {
  json::error_code error;
  const json::value read = json::parse({object_json.data(), object_json.size()}, error);
  const json::object* object = error ? nullptr : read.if_object();
  if (object == nullptr) return fail(Errc::malformed, "the response is not a JSON object");
  const auto member = [](const json::object* of, std::string_view name) {
    return of == nullptr ? nullptr : of->if_contains(name);
  };
  const auto as_object = [](const json::value* value) {
    return value == nullptr ? nullptr : value->if_object();
  };
  const json::value* old = member(as_object(member(object, "status")), "conditions");
  const json::value* version = member(as_object(member(object, "metadata")), "resourceVersion");
  json::array conditions = old != nullptr && old->is_array() ? old->get_array() : json::array();
  const json::object wanted = condition_of(failure, now);
  bool is_known = false;
  for (json::value& item : conditions) {
    json::object* condition = item.if_object();
    const json::value* type = member(condition, "type");
    if (type == nullptr || !type->is_string() || type->get_string() != kFailureCondition) continue;
    if (is_same(*condition, wanted)) return std::nullopt;
    *condition = wanted;
    is_known = true;
  }
  if (!is_known) conditions.emplace_back(wanted);
  json::object patch{{"status", json::object{{"conditions", std::move(conditions)}}}};
  if (version != nullptr) patch["metadata"] = json::object{{"resourceVersion", *version}};
  return json::serialize(patch);
}

}  // namespace autopilot::controller
