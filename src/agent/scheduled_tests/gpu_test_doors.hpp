// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "agent/cluster_link.hpp"
#include "agent/pass_book.hpp"
#include "agent/scheduled_tests/gpu_test_schedule.hpp"
#include "runtime/operations.hpp"
#include "runtime/runtime.hpp"

namespace autopilot::agent {

// The parts of an agent that the schedule of its tests stands on. They outlive it.
struct GpuTestParts {
  const Clock& clock;
  const PassBook& passes;
  runtime::Runtime& runtime;
  runtime::Operations& operations;
  ClusterLink* cluster = nullptr;      // null: none
  std::function<void()> note_changes;  // tells journal and events what began
  std::function<void()> poll_soon;
};
[[nodiscard]] GpuTestSchedule::Doors gpu_test_doors(const GpuTestParts& parts);

// The pods that tests on demand leave alone, as the last look and the cluster tell them. Who asks has
// gpu.processes looked at as well, for the next time.
[[nodiscard]] runtime::Operations::Holder pods_with_gpus(const GpuTestParts& parts);

}  // namespace autopilot::agent
