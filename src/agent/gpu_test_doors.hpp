// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "agent/cluster_link.hpp"
#include "diagnostics/operations/operations.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "diagnostics/schedule/gpu_test_schedule.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// Parts of an agent that the schedule of its diagnostics uses. They outlive it.
struct GpuTestParts {
  const Clock& clock;
  const diagnostics::PassBook& passes;
  runtime::Runtime& runtime;
  diagnostics::Operations& operations;
  ClusterLink* cluster = nullptr;      // null: none
  std::function<void()> note_changes;  // writes starts to the journal and the events
  std::function<void()> poll_soon;
};
[[nodiscard]] diagnostics::GpuTestSchedule::Doors gpu_test_doors(const GpuTestParts& parts);

// Pods whose GPUs a requested diagnostic must not use, according to the last run of gpu.processes and to the
// cluster. A call also starts a run of gpu.processes for the next call, at most one each
// GpuTestTimes::kFresh. On the loop's thread.
[[nodiscard]] diagnostics::Operations::Holder pods_with_gpus(const GpuTestParts& parts);

}  // namespace autopilot::agent
