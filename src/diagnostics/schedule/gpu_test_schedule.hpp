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
#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "core/subject.hpp"
#include "diagnostics/schedule/idle_now.hpp"
#include "net/event_loop.hpp"

namespace autopilot::diagnostics {

// Tests of idle GPUs that nobody asked for: what is to be done next. Pure.

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

// Makes the tests of idle GPUs that are due, one after the other. On the loop's thread.
class GpuTestSchedule {
 public:
  struct Doors {
    std::function<SnapshotPtr()> snapshot;
    std::function<std::vector<Operation>()> operations;
    std::function<std::vector<PassRecord>()> passes;
    std::function<bool(const std::string& check)> is_offered;
    std::function<std::optional<Result<std::string>>()> holder;  // see GpuSight
    std::function<bool()> is_reserved;                           // the node, for a deep test
    // Calls back with a look of gpu.processes that begins now; false: nobody looks.
    std::function<bool(const std::function<void(const CheckResult&)>& done)> look;
    std::function<Result<Operation>(const std::string& check, const std::vector<Subject>& gpus)> start;
    std::function<void(const std::string& id, const std::string& why)> cancel;
  };
  // `policy`: asked before each step, because a configuration may change.
  GpuTestSchedule(net::EventLoop& loop, const Clock& clock, std::function<GpuTestPolicy()> policy,
                  Doors doors);
  GpuTestSchedule(const GpuTestSchedule&) = delete;
  GpuTestSchedule& operator=(const GpuTestSchedule&) = delete;
  ~GpuTestSchedule() = default;

  void start();
  // The policy may be another one.
  void note_policy();
  // An operation that began or ended.
  void note(const Operation& operation);

 private:
  void step();
  void look();
  void wait_until(WallTime at, const std::string& why = {});
  void begin(const GpuTestStep& step);
  void say_busy(const std::string& why);

  net::EventLoop& loop_;
  const Clock& clock_;
  const std::function<GpuTestPolicy()> policy_;
  const Doors doors_;
  GpuTestMemory memory_;
  std::optional<CheckResult> seen_;
  WallTime looked_{};   // when that look began
  WallTime seen_at_{};  // and ended
  bool is_looking_ = false;
  bool was_on_ = false;
  std::string busy_;  // what was said last
  net::Subscription next_;
};

}  // namespace autopilot::diagnostics
