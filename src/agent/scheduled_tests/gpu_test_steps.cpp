// SPDX-License-Identifier: Apache-2.0
#include "agent/scheduled_tests/gpu_test_steps.hpp"

#include <algorithm>
#include <chrono>

namespace autopilot::agent {
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
  Turns(const GpuTestWorld& world, const GpuTestPolicy& policy, const GpuTestMemory& memory)
      : world_(world), policy_(policy), memory_(memory) {}

  // When that GPU is to be tested.
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
    return last;
  }

  const GpuTestWorld& world_;
  const GpuTestPolicy& policy_;
  const GpuTestMemory& memory_;
};

bool is_ours(const Operation& operation) {
  return operation.owner == kScheduleOwner && !operation.is_over();
}

GpuTestStep watch(const GpuTestWorld& world, const Operation& running, WallTime now) {
  const bool has_looked_since = world.looked >= running.started.value_or(running.created);
  if (has_looked_since) {
    GpuTestStep step;
    step.why = newcomer(world.sight, running.reservation);
    step.kind = Kind::cancel;
    step.id = running.id;
    if (!step.why.empty()) return step;
  }
  if (has_looked_since && now - world.looked < GpuTestTimes::kFresh)
    return wait_until(world.looked + GpuTestTimes::kFresh);
  GpuTestStep step;
  step.kind = Kind::look;
  return step;
}

// The first check that has its turn, and the GPUs that have it too.
struct Due {
  std::string check;
  std::vector<Subject> gpus;
  std::optional<WallTime> next;  // where none has: the first turn of all; nothing: nothing can be tested
};

Due due_in(const GpuTestWorld& world, const GpuTestPolicy& policy, const GpuTestMemory& memory,
           WallTime now) {
  const Turns turns(world, policy, memory);
  Due due;
  for (const std::string& check : policy.checks) {
    if (!world.is_offered(check)) continue;
    for (const Subject& gpu : world.sight.gpus) {
      const WallTime turn = turns.of(check, gpu);
      if (turn <= now)
        due.gpus.push_back(gpu);
      else
        due.next = std::min(due.next.value_or(turn), turn);
    }
    due.check = check;
    if (!due.gpus.empty()) return due;
  }
  return due;
}

GpuTestStep begin(const GpuTestWorld& world, Due due, WallTime now) {
  GpuTestStep step;
  if (now - world.looked >= GpuTestTimes::kFresh) {
    step.kind = Kind::look;
    return step;
  }
  const IdleGpus found = idle_gpus(world.sight);
  std::ranges::copy_if(found.idle, std::back_inserter(step.gpus), [&due](const Subject& gpu) {
    return std::ranges::find(due.gpus, gpu) != due.gpus.end();
  });
  if (step.gpus.empty()) return wait_until(now + GpuTestTimes::kBusy, found.busy);
  step.kind = Kind::start;
  step.check = std::move(due.check);
  return step;
}

}  // namespace

void GpuTestMemory::note(const Operation& operation, WallTime now) {
  if (operation.owner != kScheduleOwner || !operation.is_over()) return;
  // Who had the GPUs may have them for long.
  if (operation.state == OperationState::skipped || operation.state == OperationState::cancelled)
    return put_off(now, GpuTestTimes::kBusy);
  for (const Subject& gpu : operation.reservation)
    tried[{operation.kind, gpu.key}] = now;
}

GpuTestStep next_gpu_test_step(const GpuTestWorld& world, const GpuTestPolicy& policy,
                               const GpuTestMemory& memory, WallTime now) {
  const auto running = std::ranges::find_if(world.operations, is_ours);
  if (running != world.operations.end()) return watch(world, *running, now);
  if (world.sight.gpus.empty()) return wait_until(now + GpuTestTimes::kUnseen);
  Due due = due_in(world, policy, memory, now);
  if (due.gpus.empty()) return wait_until(due.next.value_or(now + GpuTestTimes::kBusy));
  if (now < memory.not_before) return wait_until(memory.not_before);
  const bool has_others =
      std::ranges::any_of(world.operations, [](const Operation& one) { return !one.is_over(); });
  if (world.is_reserved || has_others) return wait_until(now + GpuTestTimes::kOthers);
  return begin(world, std::move(due), now);
}

}  // namespace autopilot::agent
