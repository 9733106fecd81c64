// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "agent/cluster_link.hpp"
#include "diagnostics/operations/operations.hpp"
#include "diagnostics/operations/pass_book.hpp"
#include "diagnostics/schedule/gpu_test_schedule.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// The parts of an agent that the schedule of its tests stands on. They outlive it.
struct GpuTestParts {
  const Clock& clock;
  const diagnostics::PassBook& passes;
  runtime::Runtime& runtime;
  diagnostics::Operations& operations;
  ClusterLink* cluster = nullptr;      // null: none
  std::function<void()> note_changes;  // tells journal and events what began
  std::function<void()> poll_soon;
};
[[nodiscard]] diagnostics::GpuTestSchedule::Doors gpu_test_doors(const GpuTestParts& parts);

// The pods that tests on demand leave alone, as the last look and the cluster tell them. Who asks has
// gpu.processes looked at as well, for the next time.
[[nodiscard]] diagnostics::Operations::Holder pods_with_gpus(const GpuTestParts& parts);

}  // namespace autopilot::agent
