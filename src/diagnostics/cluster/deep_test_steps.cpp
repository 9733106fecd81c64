// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/cluster/deep_test_steps.hpp"

#include <algorithm>
#include <utility>

#include "core/stable_hash.hpp"
#include "diagnostics/cluster/idle_gpus.hpp"
#include "diagnostics/cluster/own_pod.hpp"
#include "diagnostics/cluster/reservation.hpp"

namespace autopilot::diagnostics {
namespace {

using Kind = DeepTestStep::Kind;
using Times = DeepTestTimes;

WallTime whole_seconds(WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time);
}

// Rounds up, so that events before the reservation have an earlier time in whole seconds too.
WallTime next_second(WallTime time) {
  return std::chrono::ceil<std::chrono::seconds>(time);
}

bool is_pod_of(const kube::Pod& pod, const std::string& job, const std::string& name_space) {
  return pod.owner_kind == "Job" && pod.owner_name == job && pod.meta.name_space == name_space;
}

// An agent without an image, or with diagnostics disabled, only ends diagnostics of another agent.
bool is_on(const DeepTestWorld& world, const DeepTestPolicy& policy, WallTime now) {
  const bool is_wanted = policy.every > Duration{0} || world.is_wanted || world.asked;
  return (is_wanted || is_ordered(world, policy, now)) && !policy.job.image.empty();
}

// Length of a reservation.
Duration length_of(const DeepTestPolicy& policy) {
  return Times::kCreate + Times::kStart + policy.job.deadline + Times::kEnd;
}

// One decision, with its inputs.
class Question {
 public:
  Question(const DeepTestWorld& world, const DeepTestPolicy& policy, WallTime now)
      : world_(world),
        policy_(policy),
        now_(now),
        prefix_(policy.job.prefix),
        sight_(world.sight ? *world.sight : nothing_),
        marks_(testing_marks(world.node, prefix_)),
        record_(deep_test_record(world.node, prefix_)),
        leave_(test_leave(world.node, prefix_)) {}

  [[nodiscard]] DeepTestStep answer() const {
    if (!marks_.any()) return begin();
    if (!has_sight(Times::kLook))
      return is_lost() ? release("its Jobs and pods cannot be read") : look_when_settled();
    if (auto step = delete_stray()) return *step;
    if (!marks_.reservation) return release("the reservation is missing or malformed");
    const Reservation& kept = *marks_.reservation;
    if (auto step = take_result(kept)) return *step;
    if (is_cancelled(kept)) return end(kept, "it was cancelled");
    if (!marks_.has_taint) return end(kept, "another client removed the taint");
    if (is_broken(kept)) return end(kept, "the times of its reservation are invalid: a clock is wrong");
    if (now_ >= kept.until) return end(kept, "the test did not end in time");
    if (const auto use = use_of_node(); !use.holders.empty())
      return end(kept, "accelerators are in use: " + use.holders.front());
    const kube::Job* job = job_of(kept);
    return job == nullptr ? create(kept) : watch(kept, *job);
  }

 private:
  // The node is not reserved.
  [[nodiscard]] DeepTestStep begin() const {
    if (auto step = end_strays()) return *step;
    const auto due = deep_test_due(world_, policy_, now_);
    if ((!due || now_ < *due) && leave_.any()) return give_leave_back("no test is due");
    if (!due) return {};
    if (now_ < *due) return wait(*due, "");
    if (!has_sight(Times::kLookBusy)) return look_or_glance();
    if (auto step = delete_stray()) return *step;
    const WallTime next_look = sight_.asked + Times::kLookBusy;
    if (auto why = obstacle(); !why.empty()) {
      // A clock that was ahead at the time of the request would make every sight old.
      const WallTime asked = std::min(world_.asked.value_or(WallTime{}), now_);
      const bool is_old = world_.asked && sight_.asked < asked - Times::kFresh;
      if (is_old) return look();
      return leave_.any() ? give_leave_back(std::move(why)) : wait_for_idle(next_look, std::move(why));
    }
    if (must_ask()) return ask();
    if (!has_sight(Times::kLook) || !sight_.is_exact) return look();
    Reservation wanted{.holder = policy_.holder, .since = next_second(now_), .until = {}};
    wanted.until = wanted.since + std::chrono::ceil<std::chrono::seconds>(length_of(policy_));
    return {.kind = Kind::reserve,
            .body = reserve_patch(world_.node, prefix_, wanted),
            .why = "until " + format_time(wanted.until)};
  }

  // A node that the controller holds runs no workload, and the controller itself has requested the
  // diagnostic.
  [[nodiscard]] bool must_ask() const {
    return policy_.asks_controller && !leave_.granted && !is_ordered(world_, policy_, now_);
  }
  [[nodiscard]] DeepTestStep ask() const {
    if (!leave_.asked)
      return {.kind = Kind::ask, .body = ask_leave_patch(world_.node, prefix_, now_), .why = "it is due"};
    DeepTestStep step = wait(now_ + Times::kLook, "the controller has not permitted it yet");
    // A waiting caller gets an answer if the permission does not come soon.
    step.is_kept_from = world_.asked && now_ - *leave_.asked >= Times::kLook;
    return step;
  }
  [[nodiscard]] DeepTestStep give_leave_back(std::string why) const {
    return {
        .kind = Kind::give_back, .body = give_leave_back_patch(world_.node, prefix_), .why = std::move(why)};
  }

  [[nodiscard]] DeepTestStep wait_for_idle(WallTime next_look, std::string why) const {
    DeepTestStep step = wait(next_look, std::move(why));
    step.is_kept_from = world_.asked.has_value();
    const AcceleratorUse use = use_of_node();
    if (!use.holders.empty()) step.in_use_by = use.holders.front().substr(0, use.holders.front().find(' '));
    return step;
  }

  // Why the node cannot be tested now; empty: it can.
  [[nodiscard]] std::string obstacle() const {
    if (world_.node.meta.is_deleting) return "the node is being deleted";
    const bool is_ordered_here = is_ordered(world_, policy_, now_);
    if (world_.node.is_unschedulable && !is_ordered_here) return "the node is cordoned";
    for (const kube::Taint& taint : world_.node.taints) {
      if (is_ordered_here && taint.key == kCordonTaint) continue;
      const bool matters = taint.effect == "NoSchedule" || taint.effect == "NoExecute";
      if (matters && std::ranges::find(policy_.job.tolerated, taint.key) == policy_.job.tolerated.end())
        return "the node has the taint " + taint.key + ", which the test does not tolerate";
    }
    const AcceleratorUse use = use_of_node();
    if (!use.holders.empty()) return "accelerators are in use: " + use.holders.front();
    if (use.whole.empty() && use.parts.empty()) return "the node offers no accelerators";
    if (use.is_divided || !use.parts.empty()) return "its accelerators are sliced or shared";
    if (use.whole.size() > 1) return "it has accelerators of several kinds";
    const auto is_left = [](const kube::Job& job) { return !job.is_over(); };
    if (std::ranges::any_of(sight_.jobs, is_left)) return "an earlier test has not ended";
    return "";
  }

  // The node is reserved and has no Job: creates one if the time is enough for a whole diagnostic.
  [[nodiscard]] DeepTestStep create(const Reservation& kept) const {
    if (!is_on(world_, policy_, now_)) return end(kept, "deep tests are switched off");
    const Duration left = kept.until - now_ - Times::kEnd;
    if (left < policy_.job.deadline + Times::kStart) return end(kept, "no test began in time");
    if (sight_.asked < kept.since + Times::kSettle) return look_when_settled();
    const AcceleratorUse use = use_of_node();
    if (use.whole.size() != 1 || use.is_divided || !use.parts.empty())
      return end(kept, "its accelerators have changed");
    if (has_own_pods()) return wait(sight_.asked + Times::kLook, "until an earlier test is gone");
    return {.kind = Kind::create_job,
            .body = deep_test_job(policy_.job, {.node = world_.node.meta.name,
                                                .since = kept.since,
                                                .devices = use.whole,
                                                .deadline = policy_.job.deadline + Times::kStart,
                                                .is_cordoned = leave_.is_held}),
            .name = name_of(kept)};
  }

  // The Job exists.
  [[nodiscard]] DeepTestStep watch(const Reservation& kept, const kube::Job& job) const {
    if (job.meta.is_deleting) return wait(sight_.asked + Times::kLook, "until the test is gone");
    // A long diagnostic is read less often, to leave list requests for other diagnostics of this agent.
    const Duration pause =
        std::clamp<Duration>((now_ - kept.since) / 4, Times::kLook, DeepTestTimes::kLookBusy);
    const WallTime next_look = sight_.asked + pause;
    const kube::Pod* pod = pod_of(kept);
    const bool runs = pod != nullptr && pod->phase != "Pending";
    if (!runs && now_ >= kept.since + Times::kCreate + Times::kStart)
      return remove(job, pod == nullptr ? "no pod of it was placed on the node"
                                        : "its pod does not begin: " + pod->waiting);
    return wait(std::min(next_look, kept.until), runs ? "the test runs" : "the test begins");
  }

  // Deletes the Job, then releases the reservation.
  [[nodiscard]] DeepTestStep end(const Reservation& kept, std::string why) const {
    const kube::Job* job = job_of(kept);
    if (job != nullptr && !job->is_over() && !job->meta.is_deleting) return remove(*job, std::move(why));
    const bool is_clear = (job == nullptr || job->is_over()) && !has_own_pods();
    const WallTime last = kept.until + Times::kPatience;
    if (!is_clear && now_ < last && !is_broken(kept))
      return wait(std::min(sight_.asked + Times::kLook, last), std::move(why));
    return release(std::move(why));
  }

  // A pod that is over contains the result. If it is missing and its Job is over, there is no result.
  [[nodiscard]] std::optional<DeepTestStep> take_result(const Reservation& kept) const {
    const kube::Job* job = job_of(kept);
    const kube::Pod* pod = pod_of(kept);
    const bool is_over = pod != nullptr && pod->is_over();
    const bool is_settled = job == nullptr || job->is_over() || now_ >= kept.until;
    if (is_over && is_settled)
      return release_with(kept, deep_test_result(*pod, policy_.fatal, policy_.excuses));
    if (job != nullptr && job->is_over() && !has_own_pods())
      return release("the test left no result: " + job->reason + ' ' + job->message);
    return std::nullopt;
  }

  [[nodiscard]] DeepTestStep release_with(const Reservation& kept, DeepTestResult result) const {
    result.began = kept.since;
    if (result.outcome == DeepTestOutcome::not_tested) {
      DeepTestStep step = release(result.why);
      step.result = std::move(result);
      step.name = name_of(kept);
      return step;
    }
    const DeepTestRecord record{.outcome = result.outcome,
                                .test = name_of(kept),
                                .level = policy_.level,
                                .began = kept.since,
                                .finished = whole_seconds(now_),
                                .failed = result.failed,
                                .tried = {},
                                .why = {}};
    DeepTestStep step{.kind = Kind::release,
                      .body = release_patch(world_.node, prefix_, record),
                      .name = record.test,
                      .why = std::string(to_string(result.outcome))};
    step.result = std::move(result);
    return step;
  }

  [[nodiscard]] DeepTestStep release(std::string why) const {
    DeepTestRecord record = record_;
    record.tried = whole_seconds(now_);
    record.why = why;
    return {
        .kind = Kind::release, .body = release_patch(world_.node, prefix_, record), .why = std::move(why)};
  }

  // The removal of the node's marks ends its diagnostic, even if the next turn is far.
  [[nodiscard]] std::optional<DeepTestStep> end_strays() const {
    if (!world_.may_have_strays || !world_.can_look || !is_on(world_, policy_, now_)) return std::nullopt;
    if (!has_sight(Times::kLook)) return look();
    if (auto step = delete_stray()) return step;
    const auto is_over = [](const kube::Job& job) { return job.is_over(); };
    if (std::ranges::all_of(sight_.jobs, is_over)) return std::nullopt;
    return wait(sight_.asked + Times::kLook, "until an earlier test without a reservation is gone");
  }

  // Deletes a Job of another reservation. The Node object may be outdated: without any mark on it, a Job that
  // has just begun remains.
  [[nodiscard]] std::optional<DeepTestStep> delete_stray() const {
    const Reservation* kept = marks_.reservation ? &*marks_.reservation : nullptr;
    for (const kube::Job& job : sight_.jobs) {
      const auto since = deep_test_job_since(world_.node.meta.name, job.meta.name);
      if (!since || job.is_over() || job.meta.is_deleting) continue;
      const bool is_late = marks_.any() || now_ - *since > Times::kNews;
      const bool is_stray = kept == nullptr ? is_late : *since < kept->since;
      if (is_stray) return remove(job, "the node is not reserved for it");
    }
    return std::nullopt;
  }

  [[nodiscard]] static DeepTestStep remove(const kube::Job& job, std::string why) {
    return {.kind = Kind::delete_job, .name = job.meta.name, .uid = job.meta.uid, .why = std::move(why)};
  }
  // A sight proves nothing until schedulers have seen the taint.
  [[nodiscard]] DeepTestStep look_when_settled() const {
    const WallTime settled = marks_.reservation && !is_broken(*marks_.reservation)
                                 ? marks_.reservation->since + Times::kSettle
                                 : now_;
    return now_ < settled ? wait(settled, "until schedulers have seen the taint") : look();
  }
  [[nodiscard]] DeepTestStep look() const {
    if (!world_.looked || *world_.looked > now_) return {.kind = Kind::look};
    const WallTime again = *world_.looked + Times::kLook;
    return now_ < again ? wait(again, "") : DeepTestStep{.kind = Kind::look};
  }
  // A busy node may be read from the server's cache, which is cheap; that it is idle needs an exact read.
  [[nodiscard]] DeepTestStep look_or_glance() const {
    DeepTestStep step = look();
    step.is_glance = step.kind == Kind::look && !world_.asked && world_.sight && !obstacle().empty();
    return step;
  }
  [[nodiscard]] static DeepTestStep wait(WallTime at, std::string why) {
    return {.kind = Kind::wait, .at = at, .why = std::move(why)};
  }

  // It begins in the future, or is longer than any diagnostic: a clock jumped. It ends now.
  [[nodiscard]] bool is_broken(const Reservation& kept) const {
    return kept.since > now_ + Times::kNews || kept.until - kept.since > Times::kLongest;
  }
  [[nodiscard]] bool is_cancelled(const Reservation& kept) const {
    return world_.cancelled && kept.since <= next_second(*world_.cancelled);
  }
  // The API cannot be read, and the reservation has expired or is invalid.
  [[nodiscard]] bool is_lost() const {
    if (world_.can_look) return false;
    if (!marks_.reservation) return true;
    const Reservation& kept = *marks_.reservation;
    return is_broken(kept) || now_ >= kept.until + Times::kPatience;
  }
  [[nodiscard]] bool has_sight(Duration age) const {
    return world_.sight.has_value() && sight_.asked <= now_ && now_ - sight_.asked < age;
  }
  [[nodiscard]] std::string name_of(const Reservation& kept) const {
    return deep_test_job_name(world_.node.meta.name, kept.since);
  }
  [[nodiscard]] const kube::Job* job_of(const Reservation& kept) const {
    const auto found =
        std::ranges::find(sight_.jobs, name_of(kept), [](const kube::Job& job) { return job.meta.name; });
    return found == sight_.jobs.end() ? nullptr : &*found;
  }
  [[nodiscard]] const kube::Pod* pod_of(const Reservation& kept) const {
    const auto found = std::ranges::find_if(sight_.pods, [&](const kube::Pod& pod) {
      return is_pod_of(pod, name_of(kept), policy_.job.name_space);
    });
    return found == sight_.pods.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool is_own(const kube::Pod& pod) const {
    return deep_test_job_since(world_.node.meta.name, pod.owner_name) &&
           is_pod_of(pod, pod.owner_name, policy_.job.name_space);
  }
  // Pods of tests that are not over.
  [[nodiscard]] bool has_own_pods() const {
    return std::ranges::any_of(sight_.pods,
                               [this](const kube::Pod& pod) { return is_own(pod) && !pod.is_over(); });
  }
  [[nodiscard]] AcceleratorUse use_of_node() const {
    return accelerator_use(world_.node, sight_.pods, [this](const kube::Pod& pod) { return is_own(pod); });
  }

  const DeepTestWorld& world_;
  const DeepTestPolicy& policy_;
  const WallTime now_;
  const std::string& prefix_;
  const DeepTestSight nothing_{};
  const DeepTestSight& sight_;  // empty without a sight
  const TestingMarks marks_;
  const DeepTestRecord record_;
  const TestLeave leave_;
};

// The next turn of this node after `time`.
WallTime next_turn(WallTime time, Duration every, const std::string& node) {
  const Duration place{
      static_cast<Duration::rep>(stable_hash(node).value() % static_cast<std::uint64_t>(every.count()))};
  const Duration since_place = time.time_since_epoch() - place;
  return WallTime{place + (since_place / every + 1) * every};
}

}  // namespace

DeepTestStep next_step(const DeepTestWorld& world, const DeepTestPolicy& policy, WallTime now) {
  return Question(world, policy, now).answer();
}

bool is_ordered(const DeepTestWorld& world, const DeepTestPolicy& policy, WallTime now) {
  const TestLeave leave = test_leave(world.node, policy.job.prefix);
  // A request from the future does not count: the clock of its writer is ahead.
  if (!leave.is_held || !leave.ordered || *leave.ordered > now + DeepTestTimes::kNews) return false;
  // Times of records are whole seconds.
  const WallTime ordered = whole_seconds(*leave.ordered);
  const DeepTestRecord record = deep_test_record(world.node, policy.job.prefix);
  const bool was_tested = record.outcome != DeepTestOutcome::not_tested && record.began > ordered;
  return !was_tested && (!record.tried || *record.tried <= ordered);
}

Duration longest_deep_test(const DeepTestPolicy& policy) {
  const Duration leave = policy.asks_controller ? Duration(DeepTestTimes::kLook) : Duration{0};
  return 2 * Times::kLook + leave + length_of(policy) + Times::kPatience;
}

std::optional<WallTime> deep_test_due(const DeepTestWorld& world, const DeepTestPolicy& policy,
                                      WallTime now) {
  if (!is_on(world, policy, now)) return std::nullopt;
  if (world.asked || is_ordered(world, policy, now)) return now;
  const DeepTestRecord record = deep_test_record(world.node, policy.job.prefix);
  // A record from the future does not delay a turn: the clock of its writer was ahead.
  const bool has_tried = record.tried && *record.tried <= now;
  const WallTime again = has_tried ? *record.tried + DeepTestTimes::kRetry : now;
  if (world.is_wanted) return again;
  const bool was_tested = record.outcome != DeepTestOutcome::not_tested && record.finished <= now;
  const WallTime from = was_tested ? record.finished + policy.every / 2 : world.watched_since;
  return std::max(again, next_turn(from, policy.every, world.node.meta.name));
}

}  // namespace autopilot::diagnostics
