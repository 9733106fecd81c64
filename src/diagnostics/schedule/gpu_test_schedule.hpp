// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/snapshot.hpp"
#include "diagnostics/schedule/gpu_test_steps.hpp"
#include "net/event_loop.hpp"

namespace autopilot::diagnostics {

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
