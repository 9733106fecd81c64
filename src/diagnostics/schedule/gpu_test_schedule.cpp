// SPDX-License-Identifier: Apache-2.0
#include "diagnostics/schedule/gpu_test_schedule.hpp"

#include <algorithm>
#include <utility>

#include "diagnostics/cluster/deep_test_words.hpp"
#include "logging/log.hpp"

namespace autopilot::diagnostics {
namespace {

// A clock may be set, and a configuration may be read anew.
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
  // Not from within: who tells of it has more to do.
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
  if (!is_looking_) wait_until(asked + GpuTestTimes::kBusy, "gpu.processes is switched off");
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

// Once, not at every look.
void GpuTestSchedule::say_busy(const std::string& why) {
  if (std::exchange(busy_, why) != why)
    logging::log_info("GPUs that are due are not tested now", {{"cause", why}});
}

}  // namespace autopilot::diagnostics
