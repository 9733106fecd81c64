// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "core/check_info.hpp"
#include "core/incident.hpp"
#include "core/snapshot.hpp"
#include "incidents/finding_tracker.hpp"

namespace autopilot::incidents {

// True if the check has completed and no subject is unknown.
[[nodiscard]] bool has_looked(const CheckResult& result);

// failed; else unknown if a required check did not run or no check ran; else degraded; else healthy. Subjects
// that an optional check could not check appear only in the coverage.
[[nodiscard]] Health node_health(const CheckResults& results);

// Does not count unsupported checks. missing_rights: the rights of those `checks` (in any order) whose result
// was denied.
[[nodiscard]] Coverage coverage_of(const CheckResults& results, std::span<const CheckInfo> checks);

struct VerdictInput {
  const CheckResults& results;          // with `required` set
  std::span<const Incident> incidents;  // open and recovering
  bool has_accelerator = false;         // from the PCI scan
  bool reserved_for_deep_test = false;
  ReasonLookup reasons{};  // empty: every reason has the default confidence of catalog::Reason
};

// The check that judges deep diagnostics of the node.
inline constexpr std::string_view kDeepTest = "gpu.diagnosis";
// The check that judges DCGM's diagnostic of this machine.
inline constexpr std::string_view kDcgm = "gpu.dcgm";

// Reason of a finding: earlier findings may be lost. It alone makes the verdict WARN.
inline constexpr std::string_view kMemoryLost = "memory_lost";

// A finding about one of these kinds is a GPU finding, whichever check reports it.
[[nodiscard]] bool is_accelerator_part(SubjectKind kind);

// True if the incident alone makes the verdict EVICT.
[[nodiscard]] bool makes_evict(const Incident& incident, const ReasonLookup& reasons);

// The verdict by the table of the architecture: TESTING, EVICT, WARN, PASS. none: a required check has not
// completed yet; also instead of PASS without accelerator. Injected findings never count. If the host is the
// culprit for faults of several devices, each device counts as a culprit too (docs/adr/0015).
[[nodiscard]] Verdict verdict_of(const VerdictInput& input);

}  // namespace autopilot::incidents
