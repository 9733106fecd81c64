// SPDX-License-Identifier: Apache-2.0
#include "controller/replay/history.hpp"

#include <algorithm>

#include "api/json.hpp"
#include "core/value.hpp"

namespace autopilot::controller {
namespace {

using api::JsonObject;

std::optional<std::string> word_if_any(const JsonObject& object, std::string_view name) {
  return object.has(name) ? std::optional(object.word(name)) : std::nullopt;
}
std::optional<bool> flag_if_any(const JsonObject& object, std::string_view name) {
  return object.has(name) ? std::optional(object.flag(name)) : std::nullopt;
}
std::optional<int> integer_if_any(const JsonObject& object, std::string_view name) {
  return object.has(name) ? std::optional(object.small_integer(name)) : std::nullopt;
}

OpenCause read_cause(const JsonObject& object) {
  object.has_only({"incident", "cause", "blamed", "action", "since", "byTest"});
  OpenCause cause;
  cause.incident = object.word("incident");
  cause.cause = object.word("cause");
  cause.blamed = object.word_or_empty("blamed");
  if (object.has("action")) cause.action = object.choice<Action>("action", parse_action);
  // Not told: when the line says so.
  cause.since = object.time_if_any("since").value_or(WallTime::min());
  cause.is_passive = !object.flag_or_false("byTest");
  return cause;
}

NodeChange read_node(const JsonObject& object) {
  object.has_only({"name", "labels", "domain", "gpus", "ready", "unschedulable", "verdict", "unknown",
                   "silent", "wantsTest", "causes", "passed"});
  NodeChange node;
  node.name = object.word("name");
  if (object.has("labels")) {
    node.labels.emplace();
    for (const auto& [name, value] : object.attributes("labels"))
      (*node.labels)[name] = autopilot::to_string(value);
  }
  node.domain = word_if_any(object, "domain");
  node.gpus = integer_if_any(object, "gpus");
  node.is_ready = flag_if_any(object, "ready");
  node.is_unschedulable = flag_if_any(object, "unschedulable");
  if (object.has("verdict")) node.verdict = object.choice<Verdict>("verdict", parse_verdict);
  node.is_unknown = flag_if_any(object, "unknown");
  node.is_silent = flag_if_any(object, "silent");
  node.wants_test = flag_if_any(object, "wantsTest");
  if (object.has("causes")) node.causes = object.list<OpenCause>("causes", read_cause);
  if (object.has("passed")) node.passed = object.words("passed");
  return node;
}

Owner read_owner(const JsonObject& object) {
  object.has_only({"apiVersion", "kind", "name", "uid"});
  return {.api_version = object.word_or_empty("apiVersion"),
          .kind = object.word("kind"),
          .name = object.word("name"),
          .uid = object.word("uid")};
}

std::optional<Owner> owner_if_any(const JsonObject& object) {
  return object.has("owner") ? std::optional(object.object<Owner>("owner", read_owner)) : std::nullopt;
}

PodChange read_pod(const JsonObject& object) {
  object.has_only(
      {"uid", "namespace", "name", "node", "owner", "gpus", "priority", "gated", "deleting", "deschedule"});
  PodChange pod;
  pod.uid = object.word("uid");
  pod.name_space = word_if_any(object, "namespace");
  pod.name = word_if_any(object, "name");
  pod.node = word_if_any(object, "node");
  pod.owner = owner_if_any(object);
  pod.gpus = integer_if_any(object, "gpus");
  if (object.has("priority")) pod.priority = object.small_integer("priority");
  pod.is_gated = flag_if_any(object, "gated");
  pod.is_deleting = flag_if_any(object, "deleting");
  pod.has_deschedule = flag_if_any(object, "deschedule");
  return pod;
}

FailedTest read_failed(const JsonObject& object) {
  object.has_only({"test", "reason", "message"});
  return {.test = object.word("test"),
          .reason = object.word_or_empty("reason"),
          .message = object.word_or_empty("message")};
}

Report read_report(const JsonObject& object) {
  object.has_only({"name", "node", "namespace", "pod", "podUid", "owner", "outcome", "failed", "message"});
  Report report;
  report.name = object.word("name");
  report.node = object.word("node");
  report.pod_namespace = object.word_or_empty("namespace");
  report.pod = object.word("pod");
  report.pod_uid = object.word("podUid");
  report.owner = owner_if_any(object);
  report.outcome = object.choice<Outcome>("outcome", parse_outcome);
  if (object.has("failed")) report.failed = object.list<FailedTest>("failed", read_failed);
  report.message = object.word_or_empty("message");
  return report;
}

HistoryEvent read_event(const JsonObject& object) {
  object.has_only({"time", "node", "pod", "report", "removedNode", "removedPod"});
  HistoryEvent event;
  event.time = object.time("time");
  if (object.has("node")) event.node = object.object<NodeChange>("node", read_node);
  if (object.has("pod")) event.pod = object.object<PodChange>("pod", read_pod);
  if (object.has("report")) event.report = object.object<Report>("report", read_report);
  event.removed_node = object.word_or_empty("removedNode");
  event.removed_pod = object.word_or_empty("removedPod");
  return event;
}

}  // namespace

Result<HistoryEvent> parse_history_event(std::string_view line) {
  auto document = TRY(api::JsonDocument::parse(line));
  HistoryEvent event = TRY(document.read<HistoryEvent>(read_event));
  if (event.report) event.report->time = event.time;
  if (event.node && event.node->causes)
    for (OpenCause& cause : *event.node->causes)
      if (cause.since == WallTime::min()) cause.since = event.time;
  return event;
}

}  // namespace autopilot::controller
