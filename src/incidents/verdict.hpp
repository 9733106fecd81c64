// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// The verdict by the table in docs/health-checks.md: TESTING, EVICT, WARN, PASS. none: a
// required check has not completed yet; also instead of PASS without accelerator. Injected findings never
// count. If the host is the culprit for faults of several devices, each device counts as a culprit too
// (docs/adr/0015).
[[nodiscard]] Verdict verdict_of(const VerdictInput& input);

// An incident that took the node out of service.
struct EvictingIncident {
  std::string id;
  std::optional<WallTime> closed;  // when the close was noticed
  bool is_acknowledged = false;
  friend bool operator==(const EvictingIncident&, const EvictingIncident&) = default;
};

// Id for an eviction before this agent started, known only from the label on the node.
inline constexpr std::string_view kPredecessor = "predecessor";

// The published verdict (label gpuhealth), and the incidents that may keep it worse than the current verdict.
struct WrittenVerdict {
  Verdict word = Verdict::none;
  std::vector<EvictingIncident> evicting;  // incidents that still require EVICT
  std::string node_uid{};  // uid of the Node object that had a label; empty: no label seen yet
  friend bool operator==(const WrittenVerdict&, const WrittenVerdict&) = default;
};

struct WrittenVerdictInput {
  Verdict verdict = Verdict::none;      // current verdict of the node
  std::span<const Incident> incidents;  // open and recovering
  ReasonLookup reasons{};
  std::optional<WallTime> deep_test_passed;  // start of the last deep diagnostic, if it passed
  WallTime now{};
};

// The next published verdict. EVICT remains after the verdict gets better, until each evicting incident has
// closed and a deep diagnostic has passed after that, or a person has acknowledged the incident. EVICT from a
// deep diagnostic alone lasts as long as the verdict. Other verdicts are published unchanged. Times in the
// future end nothing early: a close in the future counts as now, and a diagnostic in the future does not
// count.
[[nodiscard]] WrittenVerdict next_written(const WrittenVerdict& before, const WrittenVerdictInput& input);

// Handles the label on the Node object of that uid; empty: no label. Removing an EVICT that waits only for a
// deep diagnostic acknowledges it. TESTING replaces EVICT and acknowledges nothing. A newly created Node
// object without a label acknowledges nothing. True: `written` changed.
[[nodiscard]] bool see_label(WrittenVerdict& written, std::string_view label, std::string_view node_uid);

// A sentence: why EVICT remains although the verdict may be better, and what ends it. Empty: no incident
// requires EVICT. label: name of the label, "autopilot.ibm.com/gpuhealth".
[[nodiscard]] std::string why_it_stays(std::span<const EvictingIncident> evicting, std::string_view node,
                                       std::string_view label);

// Most incidents in one text. Any one of them is enough for EVICT.
inline constexpr std::size_t kMaxEvictingKept = 32;
// One line for the journal. parse returns nullopt unless every word is present and valid.
[[nodiscard]] std::string to_text(const WrittenVerdict& written);
[[nodiscard]] std::optional<WrittenVerdict> parse_written_verdict(std::string_view text);

}  // namespace autopilot::incidents
