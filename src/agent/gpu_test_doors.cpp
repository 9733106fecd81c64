// SPDX-License-Identifier: Apache-2.0
#include "agent/gpu_test_doors.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "diagnostics/schedule/idle_now.hpp"
#include "runtime/fresh_look.hpp"

namespace autopilot::agent {
namespace {

std::optional<Result<std::string>> holder_in(const ClusterLink* cluster) {
  if (cluster == nullptr) return std::nullopt;
  return cluster->gpu_holder();
}

}  // namespace

diagnostics::GpuTestSchedule::Doors gpu_test_doors(const GpuTestParts& parts) {
  diagnostics::GpuTestSchedule::Doors doors;
  doors.snapshot = [&runtime = parts.runtime] { return runtime.snapshot(); };
  doors.operations = [&operations = parts.operations] { return operations.list(); };
  doors.passes = [&passes = parts.passes] { return passes.records(); };
  doors.is_offered = [&operations = parts.operations](const std::string& check) {
    return std::ranges::find(operations.kinds(), check, &diagnostics::OperationKind::id) !=
           operations.kinds().end();
  };
  doors.holder = [cluster = parts.cluster] { return holder_in(cluster); };
  doors.is_reserved = [&runtime = parts.runtime] { return runtime.snapshot()->verdict == Verdict::testing; };
  doors.look = [parts](const auto& done) {
    return runtime::look_afresh(parts.runtime, parts.clock, diagnostics::kProcesses, parts.poll_soon, done);
  };
  doors.start = [parts](const std::string& check, const std::vector<Subject>& gpus) {
    auto operation =
        parts.operations.start({check, std::string(diagnostics::kScheduleOwner), gpus, std::nullopt, true});
    if (operation) parts.note_changes();
    return operation;
  };
  doors.cancel = [&operations = parts.operations](const std::string& id, const std::string& why) {
    (void)operations.cancel(id, std::string(diagnostics::kScheduleOwner) + ": " + why);
  };
  return doors;
}

diagnostics::Operations::Holder pods_with_gpus(const GpuTestParts& parts) {
  return [parts, asked = std::optional<MonoTime>()](const std::vector<Subject>& gpus) mutable {
    const MonoTime now = parts.clock.now().mono;
    if (!asked || now - *asked >= diagnostics::GpuTestTimes::kFresh) {
      asked = now;
      (void)runtime::look_afresh(parts.runtime, parts.clock, diagnostics::kProcesses, parts.poll_soon,
                                 [](const CheckResult&) {});
    }
    const SnapshotPtr snapshot = parts.runtime.snapshot();
    const auto all = diagnostics::gpus_in(*snapshot);
    return diagnostics::pod_holding(
        {all, diagnostics::look_at_processes(*snapshot), holder_in(parts.cluster)}, gpus);
  };
}

}  // namespace autopilot::agent
