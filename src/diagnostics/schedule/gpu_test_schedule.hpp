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

// Scheduled diagnostics of idle GPUs: the next step. Pure.

// Owner of the operations of these diagnostics.
inline constexpr std::string_view kScheduleOwner = "schedule";

struct GpuTestPolicy {
  Duration every{};                 // interval between two diagnostics of a GPU; 0: disabled
  std::vector<std::string> checks;  // in this order
  // In [0, 1), one value per agent: shifts its turns, so that the agents do not all start together.
  double share = 0;
};

struct GpuTestTimes {
  // Longest age of a result of gpu.processes, and interval of its runs during a diagnostic.
  static constexpr Duration kFresh = std::chrono::seconds{2};
  static constexpr Duration kBusy = std::chrono::minutes{5};     // retry after busy GPUs
  static constexpr Duration kOthers = std::chrono::minutes{1};   // retry after another diagnostic
  static constexpr Duration kOff = std::chrono::minutes{10};     // retry while disabled
  static constexpr Duration kUnseen = std::chrono::seconds{10};  // retry while the driver lists no GPU
  static constexpr double kSpread = 0.1;                     // longest delay of a turn, as a part of `every`
  static constexpr Duration kFirst = std::chrono::hours{1};  // longest delay of the first turn
};

struct GpuTestWorld {
  GpuSight sight;
  WallTime looked{};  // start of the run of gpu.processes
  WallTime seen{};    // its end, from which its age counts
  std::span<const Operation> operations;
  std::span<const PassRecord> passes;
  std::function<bool(const std::string& check)> is_offered;
  bool is_reserved = false;  // the node is reserved for a deep diagnostic
};

// State between steps.
struct GpuTestMemory {
  WallTime began{};  // the schedule
  WallTime not_before{};
  std::map<std::pair<std::string, std::string>, WallTime> tried;  // (check, GPU) -> last attempt, any result

  // Takes a scheduled operation that has ended.
  void note(const Operation& operation, WallTime now);
  // The schedule was enabled.
  void begin(WallTime now) { began = now; }
  // No GPU was idle, or no diagnostic could begin.
  void put_off(WallTime now, Duration pause) { not_before = now + pause; }
};

struct GpuTestStep {
  enum class Kind : std::uint8_t {
    wait,    // until `at`, or until an operation ends
    look,    // run gpu.processes, then call next_gpu_test_step again
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

// Runs the due diagnostics of idle GPUs, one after the other. On the event loop's thread.
class GpuTestSchedule {
 public:
  struct Doors {
    std::function<SnapshotPtr()> snapshot;
    std::function<std::vector<Operation>()> operations;
    std::function<std::vector<PassRecord>()> passes;
    std::function<bool(const std::string& check)> is_offered;
    std::function<std::optional<Result<std::string>>()> holder;  // see GpuSight
    std::function<bool()> is_reserved;                           // the node, for a deep test
    // Starts a run of gpu.processes and calls back with its result; false: the check is disabled.
    std::function<bool(const std::function<void(const CheckResult&)>& done)> look;
    std::function<Result<Operation>(const std::string& check, const std::vector<Subject>& gpus)> start;
    std::function<void(const std::string& id, const std::string& why)> cancel;
  };
  // `policy`: called before each step, because the configuration may change.
  GpuTestSchedule(net::EventLoop& loop, const Clock& clock, std::function<GpuTestPolicy()> policy,
                  Doors doors);
  GpuTestSchedule(const GpuTestSchedule&) = delete;
  GpuTestSchedule& operator=(const GpuTestSchedule&) = delete;
  ~GpuTestSchedule() = default;

  void start();
  // The policy may have changed.
  void note_policy();
  // Takes an operation that began or ended.
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
  WallTime looked_{};   // start of the run behind seen_
  WallTime seen_at_{};  // its end
  bool is_looking_ = false;
  bool was_on_ = false;
  std::string busy_;  // last logged reason
  net::Subscription next_;
};

}  // namespace autopilot::diagnostics
