// SPDX-License-Identifier: Apache-2.0
#include "incidents/verdict.hpp"

#include <algorithm>

#include "incidents/confidence.hpp"
#include "incidents/evidence.hpp"

namespace autopilot::incidents {
namespace {

// Minimum confidence in the culprit for EVICT: architecture, table of the verdict.
constexpr double kEvictConfidence = 0.8;

bool is_completed(const CheckResult& result) {
  return result.completed != WallTime{};
}

// A check with a failed and an unknown subject has the health unknown as a whole.
bool has_finding(const CheckResult& result, Health health) {
  return result.health == health || std::ranges::any_of(result.findings, [health](const Finding& finding) {
           return finding.health == health && !finding.injected;
         });
}

bool is_evicting_end(const Subject& end, double confidence, Action action) {
  return is_accelerator_part(end.kind) && confidence >= kEvictConfidence &&
         takes_device_out_of_service(action);
}

// Other network, storage and host findings have their own conditions. A finding about a GPU counts whichever
// check reports it.
bool counts_for_warn(std::string_view check, const Finding& finding) {
  return check.starts_with("gpu.") || check == "network.ping" || check == "storage.pvc" ||
         is_accelerator_part(finding.subject.kind);
}

// From deep diagnostics or DCGM, for any subject.
bool has_fatal_dcgm_test(const CheckResult& result) {
  const bool is_of_dcgm = result.check == kDeepTest || result.check == kDcgm;
  return is_of_dcgm && std::ranges::any_of(result.findings, [](const Finding& finding) {
           return finding.health == Health::failed && !finding.injected &&
                  takes_device_out_of_service(finding.action);
         });
}

bool makes_warn(const CheckResult& result) {
  if (result.required && !has_looked(result)) return true;
  return std::ranges::any_of(result.findings, [&result](const Finding& finding) {
    if (finding.health == Health::unknown && finding.reason == kMemoryLost) return true;
    return is_bad(finding.health) && !finding.injected && counts_for_warn(result.check, finding);
  });
}

bool was_denied(const CheckResult& result) {
  return std::ranges::any_of(result.findings, [](const Finding& finding) {
    return finding.health == Health::unknown && finding.reason == kNotPermitted;
  });
}

}  // namespace

bool is_accelerator_part(SubjectKind kind) {
  return kind == SubjectKind::gpu || kind == SubjectKind::gpu_instance || kind == SubjectKind::nvlink ||
         kind == SubjectKind::nvswitch;
}

bool has_looked(const CheckResult& result) {
  if (!is_completed(result) || result.health == Health::unknown) return false;
  return std::ranges::none_of(result.findings,
                              [](const Finding& finding) { return finding.health == Health::unknown; });
}

Health node_health(const CheckResults& results) {
  const auto any = [&results](auto&& predicate) { return std::ranges::any_of(results, predicate); };
  if (any([](const CheckResult& result) { return has_finding(result, Health::failed); }))
    return Health::failed;
  if (any([](const CheckResult& result) { return result.required && !has_looked(result); }))
    return Health::unknown;
  if (any([](const CheckResult& result) { return has_finding(result, Health::degraded); }))
    return Health::degraded;
  if (any([](const CheckResult& result) { return result.health == Health::healthy; })) return Health::healthy;
  return Health::unknown;
}

Coverage coverage_of(const CheckResults& results, std::span<const CheckInfo> checks) {
  Coverage coverage;
  for (const auto& result : results) {
    if (result.health == Health::unsupported) continue;
    ++coverage.of;
    if (has_looked(result)) {
      ++coverage.looked;
      continue;
    }
    if (!was_denied(result)) continue;
    const auto info = std::ranges::find(checks, result.check, &CheckInfo::id);
    if (info == checks.end()) continue;
    for (const auto& right : info->rights)
      if (std::ranges::find(coverage.missing_rights, right) == coverage.missing_rights.end())
        coverage.missing_rights.push_back(right);
  }
  return coverage;
}

bool makes_evict(const Incident& incident, const ReasonLookup& reasons) {
  if (incident.injected || incident.state == IncidentState::closed) return false;
  const bool is_of_end = is_evicting_end(incident.blamed, incident.confidence, incident.action);
  const bool has_several_ends = incident.blamed.kind == SubjectKind::host;
  return std::ranges::any_of(incident.members, [&](const IncidentMember& member) {
    const Finding& finding = member.finding;
    if (finding.health != Health::failed || member.cleared) return false;
    // The host is the culprit, but its failed devices still do not work.
    return is_of_end || (has_several_ends && !member.sympathetic &&
                         is_evicting_end(finding.subject, confidence_of(finding, reasons), finding.action));
  });
}

Verdict verdict_of(const VerdictInput& input) {
  const bool complete = std::ranges::all_of(
      input.results, [](const CheckResult& result) { return !result.required || is_completed(result); });
  if (!complete) return Verdict::none;
  if (input.reserved_for_deep_test) return Verdict::testing;
  const auto evicts = [&](const Incident& incident) { return makes_evict(incident, input.reasons); };
  if (std::ranges::any_of(input.incidents, evicts) || std::ranges::any_of(input.results, has_fatal_dcgm_test))
    return Verdict::evict;
  if (std::ranges::any_of(input.results, makes_warn)) return Verdict::warn;
  return input.has_accelerator ? Verdict::pass : Verdict::none;
}

}  // namespace autopilot::incidents
