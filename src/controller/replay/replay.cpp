// SPDX-License-Identifier: Apache-2.0
#include "controller/replay/replay.hpp"

#include "controller/planner/effects.hpp"

namespace autopilot::controller {
namespace {

// So often at most is a plan made of what the one before has changed, at one moment.
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
    return fail(Errc::malformed,
                "time: " + format_time(event.time) + " lies before the event before, " + format_time(now_));
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

// What is known by now is decided, then what is due until that time.
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
      if (!silent_.contains(name)) world_.note_look(name, now_);
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
  // It tells of others' cordons: ours is where the plan has put it.
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
