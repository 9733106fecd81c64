// SPDX-License-Identifier: Apache-2.0
#include "agent/preflight/gpu_tests.hpp"

#include <algorithm>

#include "agent/cluster_checks/deep_test_words.hpp"

namespace autopilot::agent {

std::optional<JudgedTest> GpuTests::note(const Operation& operation) {
  if (operation.state != OperationState::succeeded || operation.observations.empty()) return std::nullopt;
  const auto check = std::ranges::find(sources_.checks, operation.kind,
                                       [](const checks::Check& one) { return one.info.id; });
  if (check == sources_.checks.end()) return judge_host_test(operation);
  const SnapshotPtr snapshot = sources_.snapshot();
  const auto gpus = gpus_in(*snapshot);
  Operation ended = operation;
  complete_subjects(ended, gpus);
  sources_.board.add(ended.kind, ended.observations);
  JudgedTest judged = judge_test(*check, ended, sources_.facts, sources_.expectation());
  sources_.passes.add(pass_records_of(judged, snapshot->boot_id));
  return judged;
}

}  // namespace autopilot::agent
