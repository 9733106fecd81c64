// SPDX-License-Identifier: Apache-2.0
#include "agent/preflight/gpu_tests.hpp"

#include <algorithm>

#include "agent/cluster_checks/deep_test_words.hpp"

namespace autopilot::agent {

std::optional<JudgedTest> GpuTests::note(const Operation& operation) {
  if (operation.state != OperationState::succeeded || operation.observations.empty()) return std::nullopt;
  const auto check = std::ranges::find(sources_.checks, operation.kind,
                                       [](const checks::Check& one) { return one.info.id; });
  if (check == sources_.checks.end()) return std::nullopt;
  sources_.board.add(operation.kind, operation.observations);
  JudgedTest judged = judge_test(*check, operation, sources_.facts, sources_.expectation());
  const SnapshotPtr snapshot = sources_.snapshot();
  sources_.passes.add(pass_records_of(judged, gpus_in(*snapshot), snapshot->boot_id));
  return judged;
}

}  // namespace autopilot::agent
