// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/operation.hpp"
#include "core/subject.hpp"
#include "diagnostics/schedule/idle_now.hpp"

// Tests of idle GPUs that nobody asked for: what is to be done next. Pure.
namespace autopilot::diagnostics {

// How the operations of these tests are owned.
inline constexpr std::string_view kScheduleOwner = "schedule";

struct GpuTestPolicy {
  Duration every{};                 // a GPU is tested again after that; 0: none is
  std::vector<std::string> checks;  // in this order
  // In [0, 1), of this agent: how far its turns are from those of the others.
  double share = 0;
};

struct GpuTestTimes {
  static constexpr Duration kFresh = std::chrono::seconds{2};    // of a look, and between two during a test
  static constexpr Duration kBusy = std::chrono::minutes{5};     // until who uses the GPUs is asked again
  static constexpr Duration kOthers = std::chrono::minutes{1};   // until somebody else's test is over
  static constexpr Duration kOff = std::chrono::minutes{10};     // while it is switched off
  static constexpr Duration kUnseen = std::chrono::seconds{10};  // until the driver is asked for GPUs again
  static constexpr double kSpread = 0.1;                         // of `every`, that a turn may be later
  static constexpr Duration kFirst = std::chrono::hours{1};      // and no more for the first turn
};

struct GpuTestWorld {
  GpuSight sight;
  WallTime looked{};  // when the look began
  WallTime seen{};    // when it had ended, which is how fresh it is
  std::span<const Operation> operations;
  std::span<const PassRecord> passes;
  std::function<bool(const std::string& check)> is_offered;
  bool is_reserved = false;  // the node is kept for a deep test
};

// What is remembered from step to step.
struct GpuTestMemory {
  WallTime began{};  // the schedule
  WallTime not_before{};
  std::map<std::pair<std::string, std::string>, WallTime> tried;  // by check and GPU, whatever came of it

  // One of ours that is over.
  void note(const Operation& operation, WallTime now);
  // The schedule was switched on.
  void begin(WallTime now) { began = now; }
  // Nobody was idle, or none could begin.
  void put_off(WallTime now, Duration pause) { not_before = now + pause; }
};

struct GpuTestStep {
  enum class Kind : std::uint8_t {
    wait,    // until `at`, or until an operation ends
    look,    // ask who uses the GPUs, then ask again
    start,   // the test `check` of `gpus`
    cancel,  // the operation `id`
  };
  Kind kind = Kind::wait;
  WallTime at{};
  std::string check;
  std::vector<Subject> gpus;
  std::string id;
  std::string why;  // in a sentence, of a cancel and of a wait for idle GPUs
};

[[nodiscard]] GpuTestStep next_gpu_test_step(const GpuTestWorld& world, const GpuTestPolicy& policy,
                                             const GpuTestMemory& memory, WallTime now);

}  // namespace autopilot::diagnostics
