// SPDX-License-Identifier: Apache-2.0

#include "diagnostics/schedule/gpu_test_schedule.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "diagnostics/cluster/deep_test_words.hpp"
#include "logging/log.hpp"

namespace autopilot::diagnostics {

namespace {

// Limit of each wait: a clock may be set, and the configuration may be reloaded.
constexpr Duration kLongest = std::chrono::minutes{10};

}  // namespace

GpuTestSchedule::GpuTestSchedule(net::EventLoop& loop, const Clock& clock,
                                 std::function<GpuTestPolicy()> policy, Doors doors)
    : loop_(loop), clock_(clock), policy_(std::move(policy)), doors_(std::move(doors)) {}

void GpuTestSchedule::start() {
  memory_.begin(clock_.now().wall);
  note_policy();
}

void GpuTestSchedule::note_policy() {
  const bool is_on = policy_().every > Duration{0};
  if (is_on && !was_on_) memory_.begin(clock_.now().wall);
  was_on_ = is_on;
  step();
}

void GpuTestSchedule::note(const Operation& operation) {
  memory_.note(operation, clock_.now().wall);
  // Posted, because the caller has not finished its own work.
  if (memory_.began != WallTime{}) next_ = loop_.after(Duration{0}, [this] { step(); });
}

void GpuTestSchedule::step() {
  const GpuTestPolicy policy = policy_();
  const WallTime now = clock_.now().wall;
  const auto snapshot = doors_.snapshot();
  const auto gpus = gpus_in(*snapshot);
  const auto operations = doors_.operations();
  const auto passes = doors_.passes();
  const GpuTestWorld world{.sight = {gpus, seen_ ? &*seen_ : nullptr, doors_.holder()},
                           .looked = looked_,
                           .seen = seen_at_,
                           .operations = operations,
                           .passes = passes,
                           .is_offered = doors_.is_offered,
                           .is_reserved = doors_.is_reserved()};
  const GpuTestStep next = next_gpu_test_step(world, policy, memory_, now);
  switch (next.kind) {
    case GpuTestStep::Kind::wait:
      return wait_until(next.at, next.why);
    case GpuTestStep::Kind::look:
      return look();
    case GpuTestStep::Kind::start:
      return begin(next);
    case GpuTestStep::Kind::cancel:
      doors_.cancel(next.id, next.why);
      return wait_until(now + GpuTestTimes::kFresh);
  }
}

void GpuTestSchedule::wait_until(WallTime at, const std::string& why) {
  if (!why.empty()) say_busy(why);
  const Duration left = at - clock_.now().wall;
  next_ = loop_.after(std::clamp(left, Duration{0}, kLongest), [this] { step(); });
}

void GpuTestSchedule::look() {
  if (is_looking_) return;
  const WallTime asked = clock_.now().wall;
  is_looking_ = doors_.look([this, asked](const CheckResult& seen) {
    is_looking_ = false;
    seen_ = seen;
    looked_ = asked;
    seen_at_ = clock_.now().wall;
    next_ = loop_.after(Duration{0}, [this] { step(); });
  });
  if (!is_looking_) wait_until(asked + GpuTestTimes::kBusy, "gpu.processes is disabled");
}

void GpuTestSchedule::begin(const GpuTestStep& step) {
  const auto operation = doors_.start(step.check, step.gpus);
  const WallTime now = clock_.now().wall;
  if (operation) {
    busy_.clear();
    return wait_until(now + GpuTestTimes::kFresh);
  }
  memory_.put_off(now, GpuTestTimes::kOthers);
  wait_until(memory_.not_before, operation.error().what);
}

// Logs each reason once, not at every run.
void GpuTestSchedule::say_busy(const std::string& why) {
  if (std::exchange(busy_, why) != why)
    logging::log_info("scheduled diagnostics of GPUs wait", {{"cause", why}});
}

namespace {

using Kind = GpuTestStep::Kind;

Duration part_of(Duration whole, double share) {
  return std::chrono::duration_cast<Duration>(whole * share);
}

GpuTestStep wait_until(WallTime at, std::string why = {}) {
  GpuTestStep step;
  step.at = at;
  step.why = std::move(why);
  return step;
}

// The turns of one agent.
class Turns {
 public:
  Turns(const GpuTestWorld& world, const GpuTestPolicy& policy, const GpuTestMemory& memory, WallTime now)
      : world_(world), policy_(policy), memory_(memory), now_(now) {}

  // Time of the next diagnostic of that GPU.
  [[nodiscard]] WallTime of(const std::string& check, const Subject& gpu) const {
    const auto last = last_test(check, gpu);
    const Duration spread = part_of(policy_.every, GpuTestTimes::kSpread);
    return last ? *last + policy_.every + part_of(spread, policy_.share)
                : memory_.began + part_of(std::min(spread, GpuTestTimes::kFirst), policy_.share);
  }

 private:
  [[nodiscard]] std::optional<WallTime> last_test(const std::string& check, const Subject& gpu) const {
    std::optional<WallTime> last;
    if (const auto tried = memory_.tried.find({check, gpu.key}); tried != memory_.tried.end())
      last = tried->second;
    for (const PassRecord& pass : world_.passes)
      if (pass.test == check && !gpu.uuid.empty() && pass.gpu_uuid == gpu.uuid)
        last = std::max(last.value_or(pass.time), pass.time);
    // A record from the future does not delay a diagnostic.
    return last ? std::optional(std::min(*last, now_)) : std::nullopt;
  }

  const GpuTestWorld& world_;
  const GpuTestPolicy& policy_;
  const GpuTestMemory& memory_;
  const WallTime now_;
};

bool is_ours(const Operation& operation) {
  return operation.owner == kScheduleOwner && !operation.is_over();
}

// A clock that was set back makes old what it knows of later.
bool is_fresh(const GpuTestWorld& world, WallTime now) {
  return world.seen <= now && now - world.seen < GpuTestTimes::kFresh;
}

GpuTestStep watch(const GpuTestWorld& world, const Operation& running, WallTime now) {
  const bool has_looked_since =
      world.looked >= running.started.value_or(running.created) && world.seen <= now;
  if (has_looked_since) {
    GpuTestStep step;
    step.why = newcomer(world.sight, running.reservation);
    step.kind = Kind::cancel;
    step.id = running.id;
    if (!step.why.empty()) return step;
  }
  if (has_looked_since && is_fresh(world, now)) return wait_until(world.seen + GpuTestTimes::kFresh);
  GpuTestStep step;
  step.kind = Kind::look;
  return step;
}

// The due diagnostics, in the order of the policy.
struct Due {
  std::vector<std::pair<std::string, std::vector<Subject>>> tests;  // check -> GPUs
  std::optional<WallTime> next;  // earliest turn of all others; not set: there are none
};

Due due_in(const GpuTestWorld& world, const GpuTestPolicy& policy, const GpuTestMemory& memory,
           WallTime now) {
  const Turns turns(world, policy, memory, now);
  Due due;
  for (const std::string& check : policy.checks) {
    if (!world.is_offered(check)) continue;
    std::vector<Subject> gpus;
    for (const Subject& gpu : world.sight.gpus) {
      const WallTime turn = turns.of(check, gpu);
      if (turn <= now)
        gpus.push_back(gpu);
      else
        due.next = std::min(due.next.value_or(turn), turn);
    }
    if (!gpus.empty()) due.tests.emplace_back(check, std::move(gpus));
  }
  return due;
}

// The first diagnostic with idle GPUs: a GPU that is never idle does not block other GPUs.
GpuTestStep begin(const GpuTestWorld& world, const Due& due, WallTime now) {
  GpuTestStep step;
  if (!is_fresh(world, now)) {
    step.kind = Kind::look;
    return step;
  }
  const IdleGpus found = idle_gpus(world.sight);
  for (const auto& [check, gpus] : due.tests) {
    std::ranges::copy_if(found.idle, std::back_inserter(step.gpus), [&gpus = gpus](const Subject& gpu) {
      return std::ranges::find(gpus, gpu) != gpus.end();
    });
    if (step.gpus.empty()) continue;
    step.kind = Kind::start;
    step.check = check;
    return step;
  }
  return wait_until(now + GpuTestTimes::kBusy, found.busy);
}

}  // namespace

void GpuTestMemory::note(const Operation& operation, WallTime now) {
  if (operation.owner != kScheduleOwner || !operation.is_over()) return;
  // The user of the GPUs may hold them for a long time.
  if (operation.state == OperationState::skipped || operation.state == OperationState::cancelled)
    return put_off(now, GpuTestTimes::kBusy);
  for (const Subject& gpu : operation.reservation)
    tried[{operation.kind, gpu.key}] = now;
}

GpuTestStep next_gpu_test_step(const GpuTestWorld& world, const GpuTestPolicy& policy,
                               const GpuTestMemory& memory, WallTime now) {
  const auto running = std::ranges::find_if(world.operations, is_ours);
  if (running != world.operations.end()) return watch(world, *running, now);
  if (policy.every == Duration{0}) return wait_until(now + GpuTestTimes::kOff);
  if (world.sight.gpus.empty()) return wait_until(now + GpuTestTimes::kUnseen);
  const Due due = due_in(world, policy, memory, now);
  if (due.tests.empty()) return wait_until(due.next.value_or(now + GpuTestTimes::kBusy));
  if (now < memory.not_before && memory.not_before - now <= GpuTestTimes::kBusy)
    return wait_until(memory.not_before);
  const bool has_others =
      std::ranges::any_of(world.operations, [](const Operation& one) { return !one.is_over(); });
  if (world.is_reserved || has_others) return wait_until(now + GpuTestTimes::kOthers);
  return begin(world, due, now);
}

}  // namespace autopilot::diagnostics
