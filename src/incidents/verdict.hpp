// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "core/check_info.hpp"
#include "core/incident.hpp"
#include "core/snapshot.hpp"
#include "incidents/finding_tracker.hpp"

namespace autopilot::incidents {

// Completed, and every subject it should see was seen.
[[nodiscard]] bool has_looked(const CheckResult& result);

// failed, else unknown when a required check has not looked or nobody has, else degraded, else healthy. What
// an unrequired check could not see shows only in the coverage.
[[nodiscard]] Health node_health(const CheckResults& results);

// Checks that are unsupported here do not count. Rights are those of `checks` (the same order is not needed)
// whose result says it was denied.
[[nodiscard]] Coverage coverage_of(const CheckResults& results, std::span<const CheckInfo> checks);

struct VerdictInput {
  const CheckResults& results;          // with `required` set
  std::span<const Incident> incidents;  // open and recovering
  bool has_accelerator = false;         // by the PCI scan
  bool reserved_for_deep_test = false;
  ReasonLookup reasons{};  // without it every reason has the confidence of catalog::Reason
};

// The check that judges the deep tests of the node.
inline constexpr std::string_view kDeepTest = "gpu.diagnosis";
// The one that judges DCGM's diagnostic of this machine.
inline constexpr std::string_view kDcgm = "gpu.dcgm";

// The reason of a finding that says: what was found before may be forgotten. It alone makes the verdict WARN.
inline constexpr std::string_view kMemoryLost = "memory_lost";

// A finding about one of these is the GPUs', whichever check makes it.
[[nodiscard]] bool is_accelerator_part(SubjectKind kind);

// That it alone makes the verdict EVICT.
[[nodiscard]] bool makes_evict(const Incident& incident, const ReasonLookup& reasons);

// The table of the architecture: TESTING, EVICT, WARN, PASS; none before every required check has completed
// once, and in place of PASS where there is no accelerator. Injected findings never count. Where an incident
// blames the host for what several devices show, each of these is an end as well (docs/adr/0015).
[[nodiscard]] Verdict verdict_of(const VerdictInput& input);

}  // namespace autopilot::incidents
