// SPDX-License-Identifier: Apache-2.0

#include "controller/replay.hpp"

#include <algorithm>

#include "api/json.hpp"
#include "controller/planner/plan.hpp"
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
  // Without a time of its own: the time of the line.
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

namespace {

// Limit of plans at one moment, each of which follows the changes of the previous one.
constexpr int kRounds = 20;

template <class T, class U>
void set(T& field, const std::optional<U>& told) {
  if (told) field = *told;
}

}  // namespace

Replay::Replay(Policy policy, Tell tell, std::size_t most_plans)
    : policy_(std::move(policy)), tell_(std::move(tell)), most_plans_(most_plans) {
  world_.is_complete = true;
}

Status Replay::take(const HistoryEvent& event) {
  if (has_begun_ && event.time < now_)
    return fail(Errc::malformed, "time: " + format_time(event.time) +
                                     " is before that of the previous event, " + format_time(now_));
  TRY_STATUS(go_to(event.time));
  if (++objects_ > kMaxObjects)
    return fail(Errc::exhausted, "a history of more than " + std::to_string(kMaxObjects) + " events");
  if (event.node) change(*event.node);
  if (event.pod) change(*event.pod);
  if (event.report) world_.put(*event.report);
  if (!event.removed_node.empty()) world_.remove_node(event.removed_node);
  if (!event.removed_pod.empty()) world_.remove_pod(event.removed_pod);
  return {};
}

Status Replay::finish() {
  return has_begun_ ? decide() : Status{};
}

// Decides about the current state, then about everything due until that time.
Status Replay::go_to(WallTime time) {
  if (has_begun_ && time > now_) TRY_STATUS(decide());
  while (next_ && *next_ < time) {
    now_ = *next_;
    TRY_STATUS(decide());
  }
  has_begun_ = true;
  now_ = time;
  return {};
}

Status Replay::decide() {
  for (int round = 0; round < kRounds; ++round) {
    if (++plans_ > most_plans_)
      return fail(Errc::exhausted,
                  "a history that needs more than " + std::to_string(most_plans_) + " plans");
    for (const std::string& name : world_.of_concern())
      if (!silent_.contains(name)) world_.note_report(name, now_);
    world_.as_of = now_;
    const Plan made = plan(world_, policy_, now_);
    next_ = made.next;
    if (made.decisions.empty()) break;
    tell_(now_, made);
    for (const Decision& decision : made.decisions) {
      for (const PlannedAction& action : decision.actions)
        if (!action.is_recorded_only &&
            (action.kind == ActionKind::evict_pod || action.kind == ActionKind::delete_pod))
          moved_.insert(action.target.uid);
      apply(world_, decision, now_);
    }
  }
  return {};
}

void Replay::change(const NodeChange& change) {
  const Node* old = world_.node(change.name);
  Node node = old == nullptr ? Node{} : *old;
  if (old == nullptr) {
    node.name = node.uid = change.name;
    node.pool = Policy::kDefaultPool;
    node.gpus = 8;
    node.verdict = Verdict::pass;
    node.looked = now_;
  }
  if (change.labels) node.pool = policy_.pool_of(*change.labels);
  set(node.domain, change.domain);
  set(node.gpus, change.gpus);
  set(node.is_ready, change.is_ready);
  // The history has the cordons of others; ours are in the replayed plans.
  if (!node.held) set(node.is_unschedulable, change.is_unschedulable);
  set(node.verdict, change.verdict);
  set(node.is_unknown, change.is_unknown);
  set(node.causes, change.causes);
  for (const std::string& test : change.passed)
    node.passed[test] = now_;
  if (change.wants_test) node.wants_test = *change.wants_test ? std::optional(now_) : std::nullopt;
  if (change.is_silent && *change.is_silent) silent_.insert(change.name);
  if (change.is_silent && !*change.is_silent) silent_.erase(change.name);
  if (!silent_.contains(change.name)) node.looked = now_;
  world_.put(std::move(node));
}

void Replay::change(const PodChange& change) {
  if (moved_.contains(change.uid)) return;
  const Pod* old = world_.pod(change.uid);
  Pod pod = old == nullptr ? Pod{} : *old;
  pod.uid = change.uid;
  if (old == nullptr) pod.name = change.uid;
  set(pod.name_space, change.name_space);
  set(pod.name, change.name);
  set(pod.node, change.node);
  set(pod.owner, change.owner);
  set(pod.gpus, change.gpus);
  set(pod.priority, change.priority);
  set(pod.is_gated, change.is_gated);
  set(pod.is_deleting, change.is_deleting);
  set(pod.has_deschedule, change.has_deschedule);
  world_.put(std::move(pod));
}

}  // namespace autopilot::controller
