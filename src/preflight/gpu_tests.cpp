// SPDX-License-Identifier: Apache-2.0
#include "preflight/gpu_tests.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "diagnostics/cluster/deep_test_words.hpp"
#include "nettest/run/ping_observations.hpp"

namespace autopilot::preflight {
namespace {

// Diagnostics on a schedule. If the schedule is disabled, no later run would replace a result.
constexpr std::array<std::string_view, 3> kByThemselves{nettest::kPingCheck, "storage.pvc", "gpu.diagnosis"};

}  // namespace

void GpuTests::remember(std::span<const Operation> operations) {
  for (const Operation& operation : operations)
    if (operation.state == OperationState::succeeded)
      sources_.board.remember(operation.kind, operation.observations);
  note_unproven();
}

// If a check reported only that no diagnostic was requested, it would clear findings of an earlier one.
void GpuTests::note_unproven() {
  const SnapshotPtr snapshot = sources_.snapshot();
  for (const checks::Check& check : sources_.checks) {
    const CheckInfo& info = check.info;
    const bool is_asked_for = std::ranges::find(info.tags, "active") != info.tags.end() &&
                              std::ranges::find(kByThemselves, info.id) == kByThemselves.end();
    const bool is_open = std::ranges::any_of(snapshot->incidents, [&info](const Incident& incident) {
      return std::ranges::any_of(incident.members, [&info](const IncidentMember& member) {
        return member.check == info.id && !member.cleared;
      });
    });
    const auto known = sources_.board.last(info.id);
    if (!is_asked_for || !is_open || known || known.error().code != Errc::unsupported) continue;
    untested_.insert(info.id);
    sources_.board.put(info.id,
                       fail(Errc::unavailable,
                            "no test has ended since the agent began; the findings of the last test remain"));
  }
}

void GpuTests::complete(Operation& operation) const {
  complete_subjects(operation, diagnostics::gpus_in(*sources_.snapshot()));
}

std::optional<JudgedTest> GpuTests::note(const Operation& operation) {
  const auto check = std::ranges::find(sources_.checks, operation.kind,
                                       [](const checks::Check& one) { return one.info.id; });
  const bool has_check = check != sources_.checks.end();
  if (has_check && operation.is_over()) note_untested(operation);
  if (operation.state != OperationState::succeeded) return std::nullopt;
  const SnapshotPtr snapshot = sources_.snapshot();
  auto judged = has_check ? judge(*check, operation) : judge_host_test(operation);
  if (judged) {
    sources_.passes.add(pass_records_of(*judged, diagnostics::gpus_in(*snapshot), snapshot->boot_id));
    sources_.passes.note(*snapshot);
  }
  return judged;
}

std::optional<JudgedTest> GpuTests::judge(const checks::Check& check, const Operation& operation) {
  if (check.info.id == nettest::kPingCheck) return judge_own_pings(check, operation);
  if (operation.observations.empty()) return std::nullopt;
  Operation ended = operation;
  ended.observations = sources_.board.add(ended.kind, std::move(ended.observations));
  return judge_test(check, ended, sources_.facts, sources_.expectation());
}

// This process sent the pings itself, and stored its observations on the board.
std::optional<JudgedTest> GpuTests::judge_own_pings(const checks::Check& check, const Operation& operation) {
  const auto seen = sources_.board.last(operation.kind);
  if (!seen) return std::nullopt;
  return judge_pings(check, operation, *seen, sources_.facts, sources_.expectation());
}

// Earlier findings remain until another diagnostic has a result.
void GpuTests::note_untested(const Operation& operation) {
  if (operation.state == OperationState::skipped && !operation.observations.empty()) {
    sources_.board.add(operation.kind, operation.observations);
    return;
  }
  const bool is_late = operation.state == OperationState::timed_out;
  if (!is_late && operation.state != OperationState::failed) return;
  const auto known = sources_.board.last(operation.kind);
  if (known || (known.error().code != Errc::unsupported && !untested_.contains(operation.kind))) return;
  untested_.insert(operation.kind);
  sources_.board.put(operation.kind, fail(is_late ? Errc::timed_out : Errc::unavailable,
                                          "the test ended without a result: " + operation.message));
}

}  // namespace autopilot::preflight
